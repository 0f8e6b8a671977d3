#include "autograd/storage.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "autograd/error.h"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace reel {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

// Blocks of middle size are cut from chunks: each in huge pages of its own, they would waste much of their last one.
constexpr std::size_t smallest_cut = huge_page / 8;
constexpr std::size_t chunk_size = 8 * huge_page;
constexpr std::size_t largest_cut = chunk_size / 2;  // from there on, classes are whole huge pages
bool is_cut(std::size_t size_class) { return size_class >= smallest_cut && size_class < largest_cut; }

/// Rounds up to one of four steps between two powers of two: of more than 256 bytes, at most a fifth is wasted.
std::size_t round_to_class(std::size_t bytes) {
  if (bytes <= cache_line) return cache_line;
  std::size_t step = std::max(cache_line, std::bit_ceil(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

std::byte* take_from_system(std::size_t bytes) {
  const bool large = bytes >= largest_cut;
  const std::size_t alignment = large ? huge_page : cache_line;
  const std::size_t padded = (bytes + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, padded);
  if (!block) throw std::bad_alloc();
#ifdef __linux__
  if (large) madvise(block, padded, MADV_HUGEPAGE);  // only advice: without huge pages it is slower, not wrong
#endif
  return static_cast<std::byte*>(block);
}

/// Bytes that the machine has. More can be asked for, but not used.
std::size_t physical_memory() {
#ifdef __linux__
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
#else
  return std::numeric_limits<std::size_t>::max();
#endif
}

double gib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

class Pool {
 public:
  struct Block {
    std::byte* data;
    std::size_t size_class;
  };

  Block take(std::size_t size_class) {
    std::lock_guard lock(mutex_);
    const Block block = find(size_class);
    stats_.current += size_class;
    stats_.peak = std::max(stats_.peak, stats_.current);
    return block;
  }

  void give_back(Block block, std::size_t asked) {
    std::lock_guard lock(mutex_);
    free_[block.size_class].push_back(block.data);
    stats_.current -= asked;
  }

  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak = stats_.current;
  }

 private:
  /// A free block, or else a new one. Batches of texts differ in length: without the larger ones, each new length would
  /// take memory of its own.
  Block find(std::size_t size_class) {
    for (auto free = free_.lower_bound(size_class); free != free_.end() && free->first < 2 * size_class; ++free) {
      if (free->second.empty()) continue;
      const Block block{free->second.back(), free->first};
      free->second.pop_back();
      return block;
    }
    return {is_cut(size_class) ? cut(size_class) : allocate(size_class), size_class};
  }

  std::byte* allocate(std::size_t bytes) {
    make_room(bytes);
    std::byte* block = take_from_system(bytes);
    stats_.reserved += bytes;
    ++stats_.system_allocations;
    return block;
  }

  /// From the newest chunk, or from another; what is left of the older ones is never touched, and so takes no memory.
  std::byte* cut(std::size_t bytes) {
    if (left_ < bytes) {
      chunk_ = allocate(chunk_size);
      left_ = chunk_size;
    }
    left_ -= bytes;
    return std::exchange(chunk_, chunk_ + bytes);
  }

  /// A system that promises more than it has would end the process later, without a word. Free blocks go back first,
  /// but for those that share a chunk.
  void make_room(std::size_t bytes) {
    static const std::size_t limit = physical_memory();
    if (bytes <= limit && stats_.reserved <= limit - bytes) return;
    for (auto& [size_class, blocks] : free_) {
      if (is_cut(size_class)) continue;
      stats_.reserved -= size_class * blocks.size();
      for (std::byte* block : blocks) std::free(block);
      blocks.clear();
    }
    if (bytes <= limit && stats_.reserved <= limit - bytes) return;
    fail("out of memory: ", gib(bytes), " GiB more are needed where ", gib(stats_.current), " of the machine's ",
         gib(limit), " GiB are in use; make the batch, the texts or the model smaller");
  }

  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> free_;
  std::byte* chunk_ = nullptr;  // what is left of the newest one
  std::size_t left_ = 0;
  MemoryStats stats_{};
};

/// Never destroyed: a tensor in static storage may be freed after any static pool would be.
Pool& pool() {
  static Pool* instance = new Pool;
  return *instance;
}

}  // namespace

Storage::Storage(std::size_t bytes) : asked_(round_to_class(bytes)) {
  const auto [data, size_class] = pool().take(asked_);
  data_ = data;
  taken_ = size_class;
}

Storage::~Storage() { pool().give_back({data_, taken_}, asked_); }

MemoryStats memory_stats() { return pool().stats(); }
void reset_peak_memory() { pool().reset_peak(); }

}  // namespace reel
