#include "apps/training/metrics.h"

#include <cmath>
#include <limits>

#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::apps;

namespace {

/// The rows `first` to `last` of a run that would write just these.
void write_rows(MetricsFile& metrics, int first, int last) {
  for (int step = first; step <= last; ++step) {
    if (step % 5 == 0) {
      metrics.write(step, {{"loss", 1.0 / step}, {"validation", 2.0 / step}});
    } else {
      metrics.write(step, {{"loss", 1.0 / step}});
    }
  }
}

}  // namespace

TEST_CASE("metrics are rows of numbers under a header", "[metrics]") {
  TemporaryFolder folder;
  MetricsFile metrics(folder / "metrics.csv", {"loss", "validation", "tokens"});
  CHECK(read_file(folder / "metrics.csv") == "step,loss,validation,tokens\n");
  metrics.write(1, {{"tokens", 768}, {"loss", 4.5}});
  CHECK(read_file(folder / "metrics.csv") == "step,loss,validation,tokens\n1,4.5,,768\n");  // flushed
  metrics.write(2, {});
  metrics.write(3, {{"validation", 0.1f}});
  CHECK(read_file(folder / "metrics.csv") == "step,loss,validation,tokens\n1,4.5,,768\n2,,,\n3,,0.100000001,\n");
  CHECK_THROWS_WITH(metrics.write(4, {{"colour", 1}}), ContainsSubstring("no column colour"));
}

TEST_CASE("metrics begin anew unless resumed", "[metrics]") {
  TemporaryFolder folder;
  write_file(folder / "metrics.csv", "something else");
  MetricsFile metrics(folder / "metrics.csv", {"loss"});
  CHECK(read_file(folder / "metrics.csv") == "step,loss\n");
}

TEST_CASE("a resumed run leaves the same file as one in a single piece", "[metrics]") {
  TemporaryFolder folder;
  std::vector<std::string> columns{"loss", "validation"};
  {
    MetricsFile whole(folder / "whole.csv", columns);
    write_rows(whole, 1, 40);
  }
  {
    MetricsFile first(folder / "parts.csv", columns);
    write_rows(first, 1, 27);  // killed here, seven steps after its last checkpoint
  }
  {
    MetricsFile second(folder / "parts.csv", columns, 20);
    write_rows(second, 21, 40);
  }
  CHECK(read_file(folder / "parts.csv") == read_file(folder / "whole.csv"));

  MetricsFile nothing_to_go_on_in(folder / "new.csv", columns, 20);
  CHECK(read_file(folder / "new.csv") == "step,loss,validation\n");
}

TEST_CASE("resuming copes with each place where a file can be cut off", "[metrics]") {
  TemporaryFolder folder;
  std::string header = "step,loss\n";
  std::string whole = header + "1,0.5\n2,0.25\n13,0.125\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write_file(folder / "metrics.csv", whole.substr(0, size));
    if (size < header.size()) {
      CHECK_THROWS_AS(MetricsFile(folder / "metrics.csv", {"loss"}, 2), reel::Error);
      continue;
    }
    MetricsFile metrics(folder / "metrics.csv", {"loss"}, 2);
    std::string kept = read_file(folder / "metrics.csv");
    CHECK(whole.starts_with(kept));
    CHECK(kept.back() == '\n');
    if (size >= whole.find("13")) CHECK(kept == header + "1,0.5\n2,0.25\n");
  }
}

TEST_CASE("resuming refuses a file of another kind and leaves it alone", "[metrics]") {
  TemporaryFolder folder;
  for (const char* content : {"step,accuracy\n1,2\n", "step,loss,accuracy\n1,2,3\n", "", "step,loss\nx,1\n",
                              "step,loss\n1,2,3\n", "step,loss\n1\n", "step,loss\n1,x\n", "step,loss\n1x,2\n"}) {
    write_file(folder / "metrics.csv", content);
    CHECK_THROWS_AS(MetricsFile(folder / "metrics.csv", {"loss"}, 5), reel::Error);
    CHECK(read_file(folder / "metrics.csv") == content);
  }
  write_file(folder / "metrics.csv", "step,accuracy\n");
  CHECK_THROWS_WITH(MetricsFile(folder / "metrics.csv", {"loss"}, 5), ContainsSubstring("has other columns"));
  write_file(folder / "metrics.csv", "step,loss\n1,2\n2,3,4\n");
  CHECK_THROWS_WITH(MetricsFile(folder / "metrics.csv", {"loss"}, 5),
                    ContainsSubstring("metrics.csv, line 3: 3 cells; the header has 2"));
}

TEST_CASE("metrics that cannot be written are an error", "[metrics]") {
  TemporaryFolder folder;
  CHECK_THROWS_WITH(MetricsFile(folder / "none/metrics.csv", {"loss"}), ContainsSubstring("No such file"));
}

TEST_CASE("csv numbers", "[metrics]") {
  CHECK(csv_number(0) == "0");
  CHECK(csv_number(-3) == "-3");
  CHECK(csv_number(123456789012) == "123456789012");
  CHECK(csv_number(1.5) == "1.5");
  CHECK(csv_number(1e-4) == "0.0001");
  CHECK(csv_number(1e-7) == "1e-07");
  CHECK(csv_number(1.0 / 3) == "0.333333333");
  CHECK(csv_number(1e30) == "1e+30");
  CHECK(csv_number(std::nan("")) == "nan");
  CHECK(csv_number(-std::numeric_limits<double>::infinity()) == "-inf");
}
