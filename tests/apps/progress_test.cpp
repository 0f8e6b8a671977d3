#include "apps/training/progress.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "apps/common/terminal.h"
#include "tests/catch.h"

using namespace reel::apps;

namespace {

/// A display whose clock and width the test sets.
struct FakeDisplay {
  std::ostringstream out;
  double seconds = 1000;
  int columns = 80;

  ProgressDisplay display(bool is_terminal) {
    return {&out, is_terminal, true, [this] { return columns; }, [this] { return seconds; }};
  }
  std::string take() {
    std::string text = out.str();
    out.str("");
    return text;
  }
};

const ProgressState middle{.step = 412, .total = 1000, .loss = 2.3141, .tokens_per_second = 10240, .seconds_left = 65};

}  // namespace

TEST_CASE("a progress bar", "[progress]") {
  CHECK(progress_bar(middle, 80, false) ==
        "############...................| 412/1000  loss 2.314  10.2k tokens/s  1:05 left");
  CHECK(progress_bar(middle, 80, true) ==
        "████████████▊                  | 412/1000  loss 2.314  10.2k tokens/s  1:05 left");
  ProgressState done{
      .step = 1000, .total = 1000, .loss = 1, .tokens_per_second = 10, .seconds_left = 0, .seconds_taken = 61};
  CHECK(progress_bar(done, 60, true) == "███████████████| 1000/1000  loss 1.000  10 tokens/s  in 1:01");
}

TEST_CASE("a progress bar fits its width", "[progress]") {
  for (int width = 0; width < 200; ++width) {
    for (std::int64_t step : {0, 1, 500, 999, 1000}) {
      ProgressState state = middle;
      state.step = step;
      CHECK(display_width(progress_bar(state, width, true)) <= width);
      CHECK(display_width(progress_bar(state, width, false)) <= width);
    }
  }
  CHECK(progress_bar(middle, 20, true) == "412/1000  loss 2.314");
}

TEST_CASE("progress of nothing, and of a loss that is none", "[progress]") {
  ProgressState nothing{.step = 0, .total = 0, .loss = std::nan("")};
  CHECK(progress_line(nothing) == "step 0/0  100 %  loss nan  in 0:00");
  CHECK_NOTHROW(progress_bar(nothing, 80, true));
}

TEST_CASE("a bar is drawn ten times a second at most", "[progress]") {
  FakeDisplay fake;
  Progress progress(10'000, 0, fake.display(true));
  for (int step = 1; step <= 10'000; ++step) {
    fake.seconds += 0.001;
    progress.update(step, 1, 64);
  }
  std::string drawn = fake.take();
  auto draws = std::count(drawn.begin(), drawn.end(), '\r');
  CHECK(draws >= 95);
  CHECK(draws <= 101);
  CHECK(std::count(drawn.begin(), drawn.end(), '\n') == 0);
  CHECK_THAT(drawn, ContainsSubstring("64.0k tokens/s"));
  progress.finish();
  CHECK_THAT(fake.take(), ContainsSubstring("10000/10000") && ContainsSubstring("in 0:10\x1b[K\n"));
}

TEST_CASE("a bar makes room for other output", "[progress]") {
  FakeDisplay fake;
  Progress progress(10, 0, fake.display(true));
  fake.seconds += 1;
  progress.update(1, 1, 64);
  CHECK_THAT(fake.take(), ContainsSubstring("1/10"));
  progress.clear();
  CHECK(fake.take() == "\r\x1b[K");
  progress.clear();
  CHECK(fake.take().empty());
}

TEST_CASE("a bar that an error cuts off ends its line", "[progress]") {
  FakeDisplay fake;
  {
    Progress progress(10, 0, fake.display(true));
    progress.update(1, 1, 64);
    fake.take();
  }
  CHECK(fake.take() == "\n");
}

TEST_CASE("without a terminal there are lines, not too many", "[progress]") {
  FakeDisplay fake;
  Progress progress(6000, 0, fake.display(false));
  for (int step = 1; step <= 6000; ++step) {
    fake.seconds += 0.01;
    progress.update(step, 1, 64);
  }
  progress.finish();
  std::string lines = fake.take();
  auto count = std::count(lines.begin(), lines.end(), '\n');
  CHECK(count >= 12);  // a minute, a line every five seconds
  CHECK(count <= 14);
  CHECK(lines.find_first_of("\r\x1b") == std::string::npos);
  CHECK(lines.starts_with("step 1/6000  0 %  loss 1.000"));
  CHECK_THAT(lines, ContainsSubstring("\nstep 6000/6000  100 %  loss 1.000  6.40k tokens/s  in 1:00\n"));
}

TEST_CASE("a run of ten hours is logged by the minute", "[progress]") {
  FakeDisplay fake;
  Progress progress(36'000, 0, fake.display(false));
  for (int step = 1; step <= 36'000; ++step) {
    fake.seconds += 1;
    progress.update(step, 1, 64);
  }
  std::string lines = fake.take();
  CHECK(std::count(lines.begin(), lines.end(), '\n') <= 10 * 60 + 1);
  CHECK(std::count(lines.begin(), lines.end(), '\n') >= 10 * 60 - 1);
}

TEST_CASE("speed and time left are of the recent past, and of this run only", "[progress]") {
  FakeDisplay fake;
  Progress progress(1400, 1000, fake.display(true));  // resumed
  for (int step = 1001; step <= 1200; ++step) {
    fake.seconds += step <= 1020 ? 10 : 1;  // the first steps are slow
    progress.update(step, 1, 100);
  }
  std::string drawn = fake.take();
  std::string last = drawn.substr(drawn.rfind('\r'));
  CHECK_THAT(last, ContainsSubstring("1200/1400"));
  CHECK_THAT(last, ContainsSubstring("3:2") && ContainsSubstring(" left"));  // 200 steps of a second each
}

TEST_CASE("what is done between steps is no part of their speed", "[progress]") {
  FakeDisplay fake;
  Progress progress(400, 0, fake.display(true));
  for (int step = 1; step <= 201; ++step) {
    fake.seconds += 1;
    progress.update(step, 1, 100);
    if (step % 100 != 0) continue;
    fake.seconds += 300;  // as scoring does
    progress.skip();
  }
  const std::string drawn = fake.take();
  CHECK_THAT(drawn.substr(drawn.rfind('\r')), ContainsSubstring("201/400  loss 1.000  100 tokens/s  3:19 left"));
}
