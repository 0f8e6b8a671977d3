#include "autograd/storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "autograd/error.h"
#include "autograd/kernels/control_groups.h"
#include "autograd/kernels/machine.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif

namespace reel {
namespace {

using kernels::cache_line, kernels::page;

constexpr std::size_t huge_page = std::size_t{2} << 20;

// From here on blocks are cut from the range. Smaller ones are found faster in a list of their size.
constexpr std::size_t smallest_large = std::size_t{64} << 10;
bool is_large(std::size_t size) { return size >= smallest_large; }

std::size_t round_up(std::size_t bytes, std::size_t step) { return (bytes + step - 1) / step * step; }

/// What a block of so many bytes takes. Small ones: one of four steps between two powers of two, so that those of
/// similar sizes can take each other's place; of more than 256 bytes, at most a fifth is wasted. Large ones: whole
/// pages, and never to their very end, so that the address sanitizer sees who writes on.
std::size_t size_of_block(std::size_t bytes) {
  if (is_large(bytes)) return round_up(bytes + 1, page);
  if (bytes <= cache_line) return cache_line;
  return round_up(bytes, std::max<std::size_t>(cache_line, std::bit_ceil(bytes) / 8));
}

/// Bytes that the machine has, or its container. More can be asked for, but not used.
std::size_t usable_memory() {
  const double physical = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return static_cast<std::size_t>(std::min(physical, kernels::granted_memory()));
}

// For the address sanitizer, where it is on: what it would not see in memory that is never given back to the system.
void allow_access([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::size_t size) {
#ifdef ASAN_UNPOISON_MEMORY_REGION
  ASAN_UNPOISON_MEMORY_REGION(begin, size);
#endif
}
void forbid_access([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::size_t size) {
#ifdef ASAN_POISON_MEMORY_REGION
  ASAN_POISON_MEMORY_REGION(begin, size);
#endif
}

/// "1.25 GiB", "3 MiB"
std::string in_words(std::size_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? text(std::ceil(mib), " MiB") : text(std::round(mib / 1024 * 100) / 100, " GiB");
}

/// The free parts of the range; neighbours are one.
class Holes {
 public:
  void add(std::byte* begin, std::size_t size) {
    auto next = holes_.lower_bound(begin);
    if (next != holes_.end() && begin + size == next->first) {
      size += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
      auto& [before, size_before] = *std::prev(next);
      if (before + size_before == begin) {
        size_before += size;
        return;
      }
    }
    holes_.emplace_hint(next, begin, size);
  }

  /// The beginning of the first that is large enough; null if there is none.
  std::byte* take(std::size_t size) {
    const auto found =
        std::find_if(holes_.begin(), holes_.end(), [&](const auto& hole) { return hole.second >= size; });
    if (found == holes_.end()) return nullptr;
    const auto [begin, available] = *found;
    const auto next = std::next(found);
    auto rest = holes_.extract(found);  // and put back: a new entry might find no memory
    if (available > size) {
      rest.key() = begin + size;
      rest.mapped() = available - size;
      holes_.insert(next, std::move(rest));
    }
    return begin;
  }

 private:
  std::map<std::byte*, std::size_t> holes_;  // begin and size
};

class Pool {
 public:
  /// As many addresses as there is memory. They take none until they are used.
  Pool() {
    for (; limit_ > huge_page; limit_ /= 2) {  // fewer where a process may not have so many
      void* const range =
          mmap(nullptr, limit_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (range == MAP_FAILED) continue;
#ifdef MADV_HUGEPAGE
      madvise(range, limit_, MADV_HUGEPAGE);  // only advice: without huge pages it is slower, not wrong
#endif
      used_end_ = static_cast<std::byte*>(range);
      holes_.add(used_end_, limit_);
      break;
    }
  }

  std::byte* take(std::size_t size) {
    std::lock_guard lock(mutex_);
    std::byte* const block = is_large(size) ? take_large(size) : take_small(size);
    stats_.current += size;
    stats_.peak = std::max(stats_.peak, stats_.current);
    return block;
  }

  void give_back(std::byte* block, std::size_t size) {
    std::lock_guard lock(mutex_);
    if (is_large(size)) {
      holes_.add(block, size);
    } else {
      small_[size].push_back(block);
    }
    stats_.current -= size;
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
  /// The first part of the range that is free. So what lives long, such as weights, gathers at its beginning, and the
  /// rest stays in one piece.
  std::byte* take_large(std::size_t size) {
    std::byte* const block = holes_.take(size);
    if (!block) fail_for_want_of(size);
    if (block + size > used_end_) {
      const auto fresh = static_cast<std::size_t>(block + size - used_end_);
      if (!has_room(fresh)) {
        holes_.add(block, size);
        fail_for_want_of(size);
      }
      reserve(fresh);
      used_end_ = block + size;
    }
    return block;
  }

  std::byte* take_small(std::size_t size) {
    std::vector<std::byte*>& free = small_[size];
    if (free.empty()) {
      if (!has_room(size)) fail_for_want_of(size);
      void* const block = std::aligned_alloc(cache_line, size);
      if (!block) fail_for_want_of(size);
      reserve(size);
      return static_cast<std::byte*>(block);
    }
    std::byte* const block = free.back();
    free.pop_back();
    return block;
  }

  /// A system that promises more than it has would end the process later, without a word.
  bool has_room(std::size_t bytes) const { return bytes <= limit_ && stats_.reserved <= limit_ - bytes; }

  void reserve(std::size_t bytes) {
    stats_.reserved += bytes;
    ++stats_.system_allocations;
  }

  [[noreturn]] void fail_for_want_of(std::size_t bytes) const {
    fail("out of memory: ", in_words(bytes), " more are needed where ", in_words(stats_.reserved), " of ",
         in_words(limit_), " are taken (", in_words(stats_.current),
         " in use); make the batch, the texts or the model smaller");
  }

  std::size_t limit_ = usable_memory();
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> small_;  // free blocks of each size
  Holes holes_;
  std::byte* used_end_ = nullptr;  // of the range: what lies behind was never used
  MemoryStats stats_{};
};

/// Never destroyed: a tensor in static storage may be freed after any static pool would be.
Pool& pool() {
  static Pool* instance = new Pool;
  return *instance;
}

}  // namespace

std::uint64_t next_moment() {
  static std::atomic<std::uint64_t> moments{0};
  return moments.fetch_add(1, std::memory_order_relaxed) + 1;
}

Storage::Storage(std::size_t bytes) : size_(bytes), block_(size_of_block(bytes)), data_(pool().take(block_)) {
  allow_access(data_, size_);
  forbid_access(data_ + size_, block_ - size_);
}

Storage::~Storage() {
  forbid_access(data_, block_);
  pool().give_back(data_, block_);
}

MemoryStats memory_stats() { return pool().stats(); }
void reset_peak_memory() { pool().reset_peak(); }

}  // namespace reel
