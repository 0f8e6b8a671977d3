// The program tour: what it prints, checked against what the words around the numbers claim.

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "apps/common/terminal.h"
#include "tests/apps/program.h"

namespace {

const std::vector<std::string> names{"basic",     "queries", "scaling", "heads",   "masks",
                                     "positions", "views",   "block",   "backward"};

Outcome tour(const std::string& arguments) { return Workplace().run("tour", arguments); }

std::string show(const std::string& steps) {
  const Outcome outcome = tour(steps);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  return outcome.out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The numbers among the words of a line, which may stand in a list: (1.5, 2).
std::vector<double> numbers(std::string line) {
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '(' || c == ',' || c == ')'; }, ' ');
  std::istringstream words(line);
  std::vector<double> found;
  for (std::string word; words >> word;) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (*end == '\0') found.push_back(value);
  }
  return found;
}

/// The numbers of `count` lines of a table: those that follow the one after the title.
std::vector<std::vector<double>> table(const std::string& page, const std::string& title, std::size_t count) {
  const auto lines = lines_of(page);
  const auto at = std::find_if(lines.begin(), lines.end(),
                               [&](const std::string& line) { return line.find("      " + title) == 0; });
  REQUIRE(lines.end() - at > static_cast<std::ptrdiff_t>(count) + 1);
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back(numbers(at[static_cast<std::ptrdiff_t>(i) + 2]));
  return rows;
}

/// Every "largest difference" on the page.
std::vector<double> differences(const std::string& page) {
  std::vector<double> found;
  for (const std::string& line : lines_of(page)) {
    if (line.find("largest difference") != std::string::npos) found.push_back(numbers(line).at(0));
  }
  return found;
}

/// Whether the page has these lines, one after the other, perhaps with more between them.
void check_order(const std::string& page, const std::vector<std::string>& lines) {
  std::size_t at = 0;
  for (const std::string& line : lines) {
    INFO(line << "\nin\n" << page);
    at = page.find("\n" + line + "\n", at);
    REQUIRE(at != std::string::npos);
  }
}

}  // namespace

TEST_CASE("tour: every step is part of the whole, by number and by name", "[tour]") {
  const std::string whole = show("");
  CHECK(show("") == whole);
  std::string joined;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string number = std::to_string(i + 1), step = show(names[i]);
    CHECK(step.find(number + ". ") == 0);
    CHECK(show(number) == step);
    joined += (i > 0 ? "\n\n" : "") + step;
  }
  CHECK(whole == joined);
  CHECK(show("backward 2") == show("9") + "\n\n" + show("queries"));
  for (const std::string& line : lines_of(whole)) {
    INFO(line);
    CHECK(reel::apps::display_width(line) <= 100);
    CHECK((line.empty() || line.back() != ' '));
  }
}

TEST_CASE("tour: help lists the steps", "[tour]") {
  const std::string page = show("-h");
  CHECK(page.find("usage: tour") == 0);
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK_THAT(page, ContainsSubstring("\n  " + std::to_string(i + 1) + "  " + names[i] + " "));
  }
}

TEST_CASE("tour: a step that there is not is refused before anything is shown", "[tour]") {
  auto check_refused = [](const std::string& arguments, const std::string& reason) {
    const Outcome outcome = tour(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == "tour: " + reason + "\n");
  };
  check_refused("0", "there is no step \"0\"; -h lists the steps");
  check_refused("10", "there is no step \"10\"; -h lists the steps");
  check_refused("3x", "there is no step \"3x\"; -h lists the steps");
  check_refused("''", "there is no step \"\"; -h lists the steps");
  check_refused("\"$(printf 'a\\033[31m\\377b')\"", "there is no step \"a?[31m\uFFFDb\"; -h lists the steps");
  check_refused("1 postions", "there is no step \"postions\"; did you mean positions?");
  check_refused("--step 1", "unknown option \"--step\"; -h lists the options");
}

TEST_CASE("tour: a page that does not arrive is an error", "[tour]") {
  const Outcome outcome = tour("1 >/dev/full");
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("cannot write to standard output"));
}

TEST_CASE("tour: basic self-attention", "[tour]") {
  const std::string page = show("basic");
  const auto top = table(page, "x: four words", 4), bottom = table(page, "weights = softmax(scores)", 4);
  for (std::size_t i = 0; i < 4; ++i) {  // x and scores side by side: 3 numbers and 4; then weights and y: 4 and 3
    REQUIRE(top[i].size() == 7);
    REQUIRE(bottom[i].size() == 7);
    double total = 0;
    for (std::size_t j = 0; j < 4; ++j) total += std::exp(top[i][3 + j]);
    std::vector<double> y(3);
    for (std::size_t j = 0; j < 4; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < 3; ++c) score += top[i][c] * top[j][c];
      CHECK(top[i][3 + j] == Approx(score).margin(5e-4));
      CHECK(bottom[i][j] == Approx(std::exp(top[i][3 + j]) / total).margin(5e-4));
      for (std::size_t c = 0; c < 3; ++c) y[c] += bottom[i][j] * top[j][c];
    }
    for (std::size_t c = 0; c < 3; ++c) CHECK(bottom[i][4 + c] == Approx(y[c]).margin(5e-4));
  }
  CHECK(differences(page) == std::vector<double>{0});
}

TEST_CASE("tour: queries, keys and values break the symmetry of the scores", "[tour]") {
  const std::string page = show("queries");
  const auto parts = table(page, "Q, the queries", 4), attended = table(page, "weights = softmax(Q Kᵀ / √k)", 4);
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(parts[i].size() == 9);
    REQUIRE(attended[i].size() == 7);
    std::vector<double> weights(4);
    double total = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < 3; ++c) score += parts[i][c] * parts[j][3 + c];
      weights[j] = std::exp(score / std::sqrt(3.0));
      total += weights[j];
    }
    std::vector<double> y(3);
    for (std::size_t j = 0; j < 4; ++j) {
      CHECK(attended[i][j] == Approx(weights[j] / total).margin(0.015));
      for (std::size_t c = 0; c < 3; ++c) y[c] += weights[j] / total * parts[j][6 + c];
    }
    for (std::size_t c = 0; c < 3; ++c) CHECK(attended[i][4 + c] == Approx(y[c]).margin(0.03));
  }
  std::vector<std::vector<double>> scores;
  for (const std::string& line : lines_of(page)) {
    if (line.find("the score of") != std::string::npos) scores.push_back(numbers(line));
  }
  REQUIRE(scores.size() == 2);
  CHECK(scores[0].at(0) == scores[1].at(0));
  CHECK(scores[0].at(1) != scores[1].at(1));
}

TEST_CASE("tour: without scaling, entropy and gradient vanish as k grows", "[tour]") {
  const std::string page = show("scaling");
  CHECK_THAT(page, ContainsSubstring("the entropy is log 16 = 2.7726;"));
  const auto rows = table(page, "scores as they are", 5);
  double k = 4;
  for (std::size_t i = 0; i < rows.size(); ++i, k *= 4) {
    REQUIRE(rows[i].size() == 8);  // k, spread, entropy, gradient; the same for scaled scores
    CHECK(rows[i][0] == k);
    CHECK(rows[i][4] == k);
    CHECK(rows[i][1] == Approx(std::sqrt(k)).epsilon(0.15));
    CHECK(rows[i][5] == Approx(1).epsilon(0.15));
    CHECK(rows[i][6] == Approx(2.33).margin(0.1));
    CHECK(rows[i][7] == Approx(0.285).margin(0.02));
    if (i > 0) {
      CHECK(rows[i][2] < 0.7 * rows[i - 1][2]);
      CHECK(rows[i][3] < 0.85 * rows[i - 1][3]);
    }
  }
  const std::string gain = std::to_string(std::lround(rows[4][7] / rows[4][3]));
  CHECK_THAT(page, ContainsSubstring("scaling lets " + gain + " times as much gradient through"));
  CHECK(differences(page) == std::vector<double>{0});
}

TEST_CASE("tour: heads are folded into the batch and back", "[tour]") {
  const std::string page = show("heads");
  check_order(page,
              {"      x                                           (2, 4, 6)",
               "      toqueries(x)                                (2, 4, 18)    the queries of all heads in a row",
               "        .view({b, t, h, k})                       (2, 4, 3, 6)  the row, cut into heads",
               "        .transpose(1, 2)                          (2, 3, 4, 6)  heads before words",
               "        .reshape({b * h, t, k})                   (6, 4, 6)     b h sentences; copies",
               "      softmax                                     (6, 4, 4)",
               "      matmul(weights, values)                     (6, 4, 6)",
               "        .reshape({b, t, h * k})                   (2, 4, 18)    heads in a row; copies",
               "      unifyheads                                  (2, 4, 6)     as wide as x"});
  CHECK(differences(page) == std::vector<double>{0});
}

TEST_CASE("tour: masks", "[tour]") {
  const std::string page = show("masks");
  check_order(page,
              {"      padding                          future                           both",
               "      the      0    0    0     -∞      the      0   -∞   -∞     -∞      the      0   -∞   -∞     -∞",
               "      cat      0    0    0     -∞      cat      0    0   -∞     -∞      cat      0    0   -∞     -∞",
               "      sat      0    0    0     -∞      sat      0    0    0     -∞      sat      0    0    0     -∞",
               "      <pad>    0    0    0     -∞      <pad>    0    0    0      0      <pad>    0    0    0     -∞"});
  for (const auto& row : table(page, "no mask", 4)) {
    REQUIRE(row.size() == 8);
    CHECK(row[0] + row[1] + row[2] + row[3] == Approx(1).margin(0.025));
    CHECK(row[4] + row[5] + row[6] == Approx(1).margin(0.025));
    CHECK(row[7] == 0);
  }
  const auto strict = table(page, "strict, and padding", 4);
  CHECK(strict[0] == std::vector<double>{0, 0, 0, 0});
  CHECK(strict[1] == std::vector<double>{1, 0, 0, 0});
}

TEST_CASE("tour: the published table of positions, and its similarities", "[tour]") {
  const std::string page = show("positions");
  const auto rows = table(page, "P: 5 positions, 10 dimensions", 5);
  CHECK(rows[0] == std::vector<double>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(rows[1] == std::vector<double>{0.8415, 0.5403, 0.1578, 0.9875, 0.0251, 0.9997, 0.0040, 1, 0.0006, 1});
  const auto similar = table(page, "cosine similarity", 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK(similar[i][i + 1] == 0.9054891);
  CHECK(similar[0][4] == 0.6293746);
}

TEST_CASE("tour: views share, copies do not, view throws", "[tour]") {
  check_order(show("views"),
              {"      x                       (2, 3)  (3, 1)   (0, 1, 2, 3, 4, 5)    yes         shared",
               "      x.view({3, 2})          (3, 2)  (2, 1)   (0, 1, 2, 3, 4, 5)    yes         shared",
               "      x.slice(1, 0, 2)        (2, 2)  (3, 1)   (0, 1, 3, 4)          no          shared",
               "      x.contiguous()          (2, 3)  (3, 1)   (0, 1, 2, 3, 4, 5)    yes         shared",
               "      xᵀ = x.transpose(0, 1)  (3, 2)  (1, 3)   (0, 3, 1, 4, 2, 5)    no          shared",
               "      xᵀ.contiguous()         (3, 2)  (2, 1)   (0, 3, 1, 4, 2, 5)    yes         a copy",
               "      xᵀ.reshape({6})         (6,)    (1,)     (0, 3, 1, 4, 2, 5)    yes         a copy",
               "        view: (3, 2) with the strides (1, 3) cannot be seen as (6,) without copying;",
               "        call reshape() or contiguous()", "      x.view({6}), made before      (100, 1, 2, 3, 4, 5)",
               "      xᵀ.reshape({6}), made before  (0, 3, 1, 4, 2, 5)"});
}

TEST_CASE("tour: a block, shape by shape", "[tour]") {
  const std::string page = show("block");
  check_order(page, {"      attention(x)         (2, 4, 8)   2 heads, as in step 4",
                     "      linear(a, W₀, b₀)    (2, 4, 32)  4 times as wide",
                     "      y = norm2(...)       (2, 4, 8)   ready for the next block",
                     "      norm1(...)        0.0000    1.0000", "      attention.tokeys.weight      (16, 8)   128",
                     "      all                                   1104"});
  CHECK(differences(page) == std::vector<double>{0});
}

TEST_CASE("tour: the tape, forward and backward", "[tour]") {
  const std::string page = show("backward");
  check_order(page, {"      0  matmul  (3, 1)  <- constant, leaf (2, 1)", "      1  add     (3, 1)  <- 0, leaf (1,)",
                     "      2  tanh    (3, 1)  <- 1", "      3  sub     (3, 1)  <- 2, constant",
                     "      4  mul     (3, 1)  <- 3, 3", "      5  sum     ()      <- 4",
                     "      start      d5 = 1                     (1.0000)",
                     "      5  sum     d4 = d5, for each element  (1.0000, 1.0000, 1.0000)"});
  // By hand, from the inputs on the page.
  const double x[3][2] = {{1, 0.5}, {-1, 2}, {0, -1}}, target[3] = {1, -1, 0}, w[2] = {0.8, -0.3}, b = 0.1;
  double loss = 0, db = 0, dw[2] = {0, 0};
  std::vector<double> of_error, of_sum;
  for (int i = 0; i < 3; ++i) {
    const double y = std::tanh(x[i][0] * w[0] + x[i][1] * w[1] + b), error = y - target[i];
    const double d = 2 * error * (1 - y * y);
    of_error.push_back(2 * error);
    of_sum.push_back(d);
    loss += error * error;
    db += d;
    for (int c = 0; c < 2; ++c) dw[c] += d * x[i][c];
  }
  auto check_row = [&](const std::string& name, const std::vector<double>& wanted) {
    INFO(name);
    std::size_t at = page.find("  " + name + "  ");
    REQUIRE(at != std::string::npos);
    at += 2 + name.size();
    const std::vector<double> row = numbers(page.substr(at, page.find('\n', at) - at));
    REQUIRE(row.size() == wanted.size());
    for (std::size_t i = 0; i < row.size(); ++i) CHECK(row[i] == Approx(wanted[i]).margin(5e-5));
  };
  check_row("loss", {loss});
  check_row("d3 = d4 error + d4 error", of_error);
  check_row("d2 = d3", of_error);
  check_row("d1 = d2 (1 - tanh²)", of_sum);
  check_row("d0 = d1", of_sum);
  check_row("db = Σ d1", {db});
  check_row("dw = xᵀ d0", {dw[0], dw[1]});
  check_row("w[0]", {dw[0], dw[0]});
  check_row("w[1]", {dw[1], dw[1]});
  check_row("b[0]", {db, db});
}
