#include "autograd/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/kernels/control_groups.h"
#include "autograd/kernels/cores.h"
#include "autograd/kernels/machine.h"

namespace reel::kernels {
namespace {

constexpr int max_threads = 1024;

int default_threads(std::size_t cores) {
  if (const char* text = std::getenv("REEL_THREADS"); text && *text) {
    int count = 0;
    const char* end = text + std::strlen(text);
    auto [rest, error] = std::from_chars(text, end, count);
    if (error == std::errc() && rest == end && count >= 1 && count <= max_threads) return count;
    throw std::invalid_argument("REEL_THREADS is '" + std::string(text) + "'; need a whole number from 1 to " +
                                std::to_string(max_threads));
  }
  if (cores == 0) cores = std::max(1u, std::thread::hardware_concurrency());
  // Rounded down: where threads get less time than they need, all wait for the one that has been stopped.
  const double granted = std::max(1.0, std::floor(granted_cores()));
  return static_cast<int>(std::min({static_cast<double>(cores), granted, static_cast<double>(max_threads)}));
}

/// True on workers, and on the calling thread while it works on a loop: loops within are not shared out again.
thread_local bool inside_loop = false;

/// The workers, and the one loop they share at a time.
///
/// `state_` is all that threads agree on: a generation, which each loop raises; whether the loop is open to be joined;
/// and how many workers are inside. Joining is voluntary: the caller does not wait for a worker that is still asleep,
/// only for those inside. A worker that finds nothing to do first spins for a while, since the next loop is often
/// microseconds away and waking a sleeping thread takes fifty, then sleeps.
///
/// Each thread begins with the same share of every loop, so that it finds in its core's cache what it has written there
/// in the loop before. When it is done with that, it helps the others (Markatos and LeBlanc, "Using processor affinity
/// in loop scheduling on shared-memory multiprocessors", 1994).
///
/// With a thread for every core, each worker is tied to one: left alone, some systems let two busy threads share a core
/// for milliseconds while another one idles. With fewer, the system chooses: it knows which cores other programs use,
/// and which ones are two names for one.
class Pool {
 public:
  Pool() : cores_(usable_cores()) { start(default_threads(cores_.size())); }
  ~Pool() { stop(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_.load(std::memory_order_relaxed); }

  void set_threads(int count) {
    std::lock_guard lock(busy_);
    if (count == threads()) return;
    stop();
    start(count);
  }

  /// False, and nothing done, if the workers are in another thread's loop.
  bool run(int64_t count, int64_t grain, detail::LoopBody body, const void* context) {
    std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock || workers_.empty()) return false;
    leave_core_to_caller();
    count_ = count;
    grain_ = grain;
    body_ = body;
    context_ = context;
    share_out(divide_up(count, grain));
    state_.store((state_.load(std::memory_order_relaxed) + one_generation) | open_bit);
    state_.notify_all();

    inside_loop = true;
    work(0);
    inside_loop = false;
    state_.fetch_and(~open_bit);
    wait_until_empty();
    if (std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
    return true;
  }

 private:
  using State = std::uint32_t;
  static constexpr State inside_mask = 0xffff, open_bit = 0x1'0000, one_generation = 0x2'0000;
  static State generation(State state) { return state / one_generation; }
  static constexpr std::chrono::microseconds spin_time{100};

  /// The chunks that a thread begins with; on a cache line of its own, for it is changed at every chunk.
  struct alignas(cache_line) Part {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  void start(int count) {
    stopping_ = false;
    dedicated_ = static_cast<std::size_t>(count) <= cores_.size();
    State seen = state_.load();
    try {
      for (auto i = std::size_t{1}; i < static_cast<std::size_t>(count); ++i) {
        workers_.emplace_back([this, i, seen] { worker(i, seen); });
      }
    } catch (const std::system_error&) {
      // The system has no more threads for us: go on with those we have.
    }
    threads_ = static_cast<int>(workers_.size()) + 1;
    pinned_ = workers_.size() + 1 == cores_.size();
    parts_ = std::vector<Part>(workers_.size() + 1);
    for (std::size_t i = 0; pinned_ && i < workers_.size(); ++i) pin(workers_[i], cores_[i + 1]);
  }

  void stop() {
    stopping_ = true;
    state_.fetch_add(one_generation);
    state_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  /// The calling thread is not ours to tie down. If the system moves it to a worker's core, they change places.
  void leave_core_to_caller() {
    if (!pinned_) return;
    int core = current_core();
    if (core == cores_[0]) return;
    auto taken = std::find(cores_.begin(), cores_.end(), core);
    if (taken == cores_.end()) return;
    std::swap(cores_[0], *taken);
    auto worker = static_cast<std::size_t>(taken - cores_.begin()) - 1;
    if (worker < workers_.size()) pin(workers_[worker], *taken);
  }

  void worker(std::size_t thread, State seen) {
    detail::start_flushing_denormals();
    inside_loop = true;
    State last_joined = 0;
    while (true) {
      seen = wait_for_change(seen);
      if (stopping_) return;
      if (!(seen & open_bit) || generation(seen) == last_joined) continue;
      if (!state_.compare_exchange_strong(seen, seen + 1)) {
        seen = ~seen;  // something changed meanwhile: look again at once
        continue;
      }
      last_joined = generation(seen);
      work(thread);
      seen = state_.fetch_sub(1) - 1;
    }
  }

  State wait_for_change(State seen) {
    if (dedicated_) {  // otherwise spinning would only take time from a thread that has work
      auto give_up = std::chrono::steady_clock::now() + spin_time;
      do {
        for (int i = 0; i < 16; ++i) {
          if (State now = state_.load(); now != seen) return now;
          pause();
        }
      } while (std::chrono::steady_clock::now() < give_up);
    }
    state_.wait(seen);
    return state_.load();
  }

  void share_out(int64_t chunks) {
    const auto count = std::ssize(parts_);
    int64_t begin = 0;
    for (int64_t i = 0; i < count; ++i) {
      Part& part = parts_[static_cast<std::size_t>(i)];
      part.next.store(begin, std::memory_order_relaxed);
      part.end = begin = chunks * (i + 1) / count;
    }
  }

  /// Takes chunk after chunk of this thread's part, then of the others', until none is left.
  void work(std::size_t thread) {
    try {
      for (std::size_t i = 0; i < parts_.size(); ++i) work_off(parts_[(thread + i) % parts_.size()]);
    } catch (...) {
      for (Part& part : parts_) part.next.store(part.end, std::memory_order_relaxed);  // no other chunk need begin
      std::lock_guard lock(error_mutex_);
      error_ = std::current_exception();
    }
  }

  void work_off(Part& part) {
    while (part.next.load(std::memory_order_relaxed) < part.end) {  // to look is cheaper than to take
      const int64_t chunk = part.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk < part.end) body_(context_, chunk * grain_, std::min((chunk + 1) * grain_, count_));
    }
  }

  void wait_until_empty() {
    for (int i = 0; state_.load() & inside_mask; ++i) {
      if (i < 1000) {
        pause();
      } else {
        std::this_thread::yield();  // a worker may be waiting for this very core
      }
    }
  }

  std::vector<int> cores_;  // the caller's, then those of the workers in their order, then those left over
  std::vector<std::thread> workers_;
  std::atomic<int> threads_{1};
  std::atomic<bool> stopping_{false};
  bool dedicated_ = false;  // there is a core for each thread
  bool pinned_ = false;     // there are as many threads as cores
  std::mutex busy_;         // held by the thread whose loop the workers share

  // The loop. Written while it is closed and empty.
  int64_t count_ = 0, grain_ = 1;
  detail::LoopBody body_ = nullptr;
  const void* context_ = nullptr;
  std::exception_ptr error_;
  std::mutex error_mutex_;

  std::vector<Part> parts_;  // the caller's, then those of the workers in their order

  alignas(cache_line) std::atomic<State> state_{0};  // on a cache line of its own, for all threads watch it
};

Pool& pool() {
  static Pool instance;
  return instance;
}

}  // namespace

int threads() { return pool().threads(); }

void set_threads(int count) {
  if (count < 1 || count > max_threads) {
    throw std::invalid_argument("set_threads: the number of threads is " + std::to_string(count) + "; need 1 to " +
                                std::to_string(max_threads));
  }
  if (inside_loop) throw std::logic_error("set_threads: called from within a parallel loop; call it between loops");
  pool().set_threads(count);
}

namespace detail {

void run_chunks(int64_t count, int64_t grain, LoopBody body, const void* context) {
  if (!inside_loop && pool().run(count, grain, body, context)) return;
  for (int64_t begin = 0; begin < count; begin += grain) body(context, begin, std::min(begin + grain, count));
}

void start_flushing_denormals() {
  flush_denormals();
  flushes_denormals = true;
}

}  // namespace detail
}  // namespace reel::kernels
