#pragma once
// What a person sees of a long run, on stderr: on a terminal a bar that is redrawn in place,
//
//     ██████████▍               | 412/1000  loss 2.314  10.2k tokens/s  1:05 left
//
// and elsewhere, say in a log file, a line for each percent, but no more than one in 5 seconds and no less than one a
// minute.

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "autograd/shape.h"

namespace reel::apps {

struct ProgressState {
  int64_t step = 0;
  int64_t total = 0;
  double loss = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
  double seconds_taken = 0;  // shown in the place of seconds_left once step is total
};

/// Fits into `width` columns: the bar becomes shorter, then goes; what does not fit then is cut off. Without `utf8` it
/// is drawn in ASCII.
std::string progress_bar(const ProgressState& state, int width, bool utf8);
/// "step 412/1000  41 %  loss 2.314  10.2k tokens/s  1:05 left"
std::string progress_line(const ProgressState& state);

/// Where progress is shown, and what the time is. The default is stderr and the steady clock.
struct ProgressDisplay {
  std::ostream* out;
  bool is_terminal;
  bool utf8;
  std::function<int()> width;       // in columns; asked again before every redraw
  std::function<double()> seconds;  // from any point on
};
ProgressDisplay stderr_display();

class Progress {
 public:
  /// Of `total` steps, `done` are behind us.
  explicit Progress(int64_t total, int64_t done = 0, ProgressDisplay display = stderr_display());
  /// Leaves a bar that is still on the screen in a line of its own.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `step` steps are done; `tokens` were seen since the last update. To be called after every step: it draws ten times
  /// a second at most.
  void update(int64_t step, double loss, int64_t tokens);

  /// What time went by since the last update was not spent on a step: speed and time left do not count it.
  void skip();

  /// Takes the bar off the screen until the next update, so that something else can write.
  void clear();

  /// Shows how it ended, and for good.
  void finish();

 private:
  ProgressState state() const;
  void show();

  ProgressDisplay display_;
  int64_t total_;
  int64_t step_;
  double loss_ = 0;
  double start_;
  double last_update_;
  // sums over the past that fade, so that speed is that of the last half minute
  double recent_seconds_ = 0;
  double recent_steps_ = 0;
  double recent_tokens_ = 0;
  std::optional<double> last_shown_;
  int64_t step_shown_ = -1;
  bool bar_is_drawn_ = false;
};

}  // namespace reel::apps
