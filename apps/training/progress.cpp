#include "apps/training/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <utility>

#include "apps/common/numbers.h"
#include "apps/common/terminal.h"
#include "autograd/error.h"

namespace reel::apps {

namespace {

constexpr double seconds_between_bars = 0.1;
constexpr double seconds_between_lines = 5;
constexpr double seconds_without_line = 60;
constexpr double memory_in_seconds = 30;

double share_done(const ProgressState& state) {
  if (state.total <= 0) return 1;
  return std::clamp(static_cast<double>(state.step) / static_cast<double>(state.total), 0.0, 1.0);
}

std::string figures(const ProgressState& state) {
  std::ostringstream out;
  out << "loss " << std::fixed << std::setprecision(3) << state.loss;
  if (state.tokens_per_second > 0) out << "  " << count_text(state.tokens_per_second) << " tokens/s";
  if (state.step >= state.total) {
    out << "  in " << duration_text(state.seconds_taken);
  } else if (state.seconds_left > 0) {
    out << "  " << duration_text(state.seconds_left) << " left";
  }
  return std::move(out).str();
}

/// `width` columns, filled from the left; in UTF-8 by eighths of a column.
std::string bar(double share, int width, bool utf8) {
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  int parts = utf8 ? 8 : 1;
  int filled = static_cast<int>(share * width * parts);
  std::string out;
  for (int i = 0; i < filled / parts; ++i) out += utf8 ? "█" : "#";
  out += eighths[filled % parts];
  out.append(static_cast<std::size_t>(width - (filled + parts - 1) / parts), utf8 ? ' ' : '.');
  return out;
}

}  // namespace

std::string progress_bar(const ProgressState& state, int width, bool utf8) {
  static constexpr int least_bar = 8;
  static constexpr int longest_bar = 40;
  std::string words = text(state.step, "/", state.total, "  ", figures(state));
  int room = std::min(width - display_width(words) - 2, longest_bar);
  if (room >= least_bar) return bar(share_done(state), room, utf8) + "| " + words;
  return words.substr(0, static_cast<std::size_t>(std::max(width, 0)));
}

std::string progress_line(const ProgressState& state) {
  auto percent = static_cast<int>(100 * share_done(state));
  return text("step ", state.step, "/", state.total, "  ", percent, " %  ", figures(state));
}

ProgressDisplay stderr_display() {
  auto seconds = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  return {&std::cerr, is_terminal(STDERR_FILENO), locale_is_utf8(), [] { return terminal_width(STDERR_FILENO); },
          seconds};
}

Progress::Progress(int64_t total, int64_t done, ProgressDisplay display)
    : display_(std::move(display)), total_(total), step_(done), start_(display_.seconds()), last_update_(start_) {}

Progress::~Progress() {
  if (bar_is_drawn_) *display_.out << '\n' << std::flush;
}

void Progress::update(int64_t step, double loss, int64_t tokens) {
  double now = display_.seconds();
  double seconds = now - std::exchange(last_update_, now);
  double fade = std::exp(-seconds / memory_in_seconds);
  recent_seconds_ = fade * recent_seconds_ + seconds;
  recent_steps_ = fade * recent_steps_ + static_cast<double>(step - std::exchange(step_, step));
  recent_tokens_ = fade * recent_tokens_ + static_cast<double>(tokens);
  loss_ = loss;

  double since_shown = last_shown_ ? now - *last_shown_ : seconds_without_line;
  bool percent_passed = (step - step_shown_) * 100 >= total_;
  bool due = display_.is_terminal
                 ? since_shown >= seconds_between_bars
                 : since_shown >= seconds_without_line || (since_shown >= seconds_between_lines && percent_passed);
  if (due) show();
}

ProgressState Progress::state() const {
  ProgressState state{.step = step_, .total = total_, .loss = loss_};
  if (recent_seconds_ > 0) state.tokens_per_second = recent_tokens_ / recent_seconds_;
  if (recent_steps_ > 0) {
    state.seconds_left = static_cast<double>(total_ - step_) * recent_seconds_ / recent_steps_;
  }
  state.seconds_taken = last_update_ - start_;
  return state;
}

void Progress::show() {
  last_shown_ = last_update_;
  step_shown_ = step_;
  if (display_.is_terminal) {
    // one column stays free: a terminal would wrap after the last
    std::string drawn = progress_bar(state(), display_.width() - 1, display_.utf8);
    *display_.out << "\r" << drawn << "\x1b[K" << std::flush;  // then erase what is left of a longer one
    bar_is_drawn_ = true;
  } else {
    *display_.out << progress_line(state()) << '\n' << std::flush;
  }
}

void Progress::skip() { last_update_ = display_.seconds(); }

void Progress::clear() {
  if (std::exchange(bar_is_drawn_, false)) *display_.out << "\r\x1b[K" << std::flush;
}

void Progress::finish() {
  if (last_shown_ && (display_.is_terminal || step_shown_ != step_)) show();
  if (std::exchange(bar_is_drawn_, false)) *display_.out << '\n' << std::flush;
}

}  // namespace reel::apps
