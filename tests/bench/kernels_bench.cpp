// How close single kernels come to the ceiling that binds them, in f32: matrix products to the speed of the
// multipliers, and beside it OpenBLAS, if it is installed; attention, which is made of them; and what does little to
// each number, to the speed of copying memory.
//
//     kernels_bench [THREADS]

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "autograd/creation.h"
#include "autograd/kernels/attention.h"
#include "autograd/ops.h"
#include "autograd/row_gradient.h"
#include "autograd/tape.h"
#include "optim/optimizer.h"
#include "tests/bench/ceilings.h"
#include "tests/bench/openblas.h"

using namespace reel;
using kernels::Matrix;

namespace {

// ---- matrix products ----

/// `batch` products of m x k by k x n.
struct Product {
  int64_t batch, m, k, n;
  friend auto operator<=>(const Product&, const Product&) = default;
};

/// y = x w' of a linear layer, dx = dy w, and dw = dy' x.
void add_linear(std::set<Product>& products, int64_t rows, int64_t in, int64_t out) {
  products.insert({1, rows, in, out});
  products.insert({1, rows, out, in});
  products.insert({1, out, rows, in});
}

/// Scores of T queries and keys of D numbers, the values that they weight, and the gradients of both.
void add_attention(std::set<Product>& products, int64_t heads, int64_t T, int64_t D) {
  products.insert({heads, T, D, T});
  products.insert({heads, T, T, D});
}

/// Squares, and batches of small products that fit the second cache.
std::vector<Product> plain_products() {
  std::vector<Product> products;
  for (int64_t size : {256, 384, 512, 768, 1024, 1536, 2048}) products.push_back({1, size, size, size});
  products.push_back({6, 100, 100, 100});
  products.push_back({64, 24, 32, 24});
  products.push_back({64, 24, 24, 32});
  return products;
}

/// All large products of workloads.h.
std::set<Product> of_workloads() {
  std::set<Product> products;
  for (int64_t hidden : {1024, 512}) {  // classify and generate, both of 2,048 tokens: attention, feed-forward
    add_linear(products, 2048, 128, hidden);
    add_linear(products, 2048, hidden, 128);
  }
  for (int64_t hidden : {800, 400}) {  // classify-mean
    add_linear(products, 3200, 100, hidden);
    add_linear(products, 3200, hidden, 100);
  }
  add_linear(products, 2048, 256, 128);  // generate: embeddings of tokens and positions, unified
  add_linear(products, 256, 256, 256);   // naive
  add_linear(products, 1536, 256, 256);  // translate: attention
  add_linear(products, 1536, 256, 512);  // and feed-forward
  add_linear(products, 1536, 512, 256);
  add_linear(products, 1536, 256, 5900);   // and the words
  add_attention(products, 32, 512, 128);   // classify
  add_attention(products, 256, 100, 100);  // classify-mean
  add_attention(products, 128, 128, 128);  // generate
  add_attention(products, 512, 24, 32);    // translate
  return products;
}

/// A dense matrix, or what it is when it lies there transposed.
Matrix<const float> matrix(const Tensor& x, int64_t rows, int64_t columns, bool transposed) {
  return transposed ? Matrix<const float>{x.data<float>(), 1, rows} : Matrix<const float>{x.data<float>(), columns, 1};
}

/// How many times as fast as OpenBLAS Reel is, product by product.
class Lead {
 public:
  void add(double ratio, const std::string& product) { all_.push_back({ratio, product}); }

  void print() {
    if (all_.empty()) return;
    std::sort(all_.begin(), all_.end());
    double logs = 0;
    for (const auto& [ratio, product] : all_) logs += std::log(ratio);
    const auto ahead = std::find_if(all_.begin(), all_.end(), [](const auto& x) { return x.first >= 1; });
    std::printf("\nReel is %.2f times as fast as OpenBLAS (the geometric mean), and slower in %td of %td products%s\n",
                std::exp(logs / static_cast<double>(all_.size())), ahead - all_.begin(), std::ssize(all_),
                ahead == all_.begin() ? "." : ":");
    for (auto behind = all_.begin(); behind != ahead; ++behind) {
      std::printf("%.3f times as fast: %s\n", behind->first, behind->second.c_str());
    }
  }

 private:
  std::vector<std::pair<double, std::string>> all_;
};

/// A line of the table: percentages of the multipliers' speed, in all four cases. Reel and OpenBLAS multiply in turn,
/// so that what a neighbour does meets both; their lead is the median of what each turn gives.
void print_product(const Product& p, const bench::OpenBlas& blas, Lead& lead) {
  const Tensor a = randn({p.batch, p.m, p.k}), b = randn({p.batch, p.k, p.n}), c({p.batch, p.m, p.n}, DType::f32);
  const int64_t a_step = p.m * p.k, b_step = p.k * p.n, c_step = p.m * p.n;
  const double gflop = 2e-9 * static_cast<double>(p.batch * p.m * p.k * p.n);
  std::printf("%6lld%6lld%6lld%6lld", static_cast<long long>(p.batch), static_cast<long long>(p.m),
              static_cast<long long>(p.k), static_cast<long long>(p.n));
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const auto left = matrix(a, p.m, p.k, transpose_a), right = matrix(b, p.k, p.n, transpose_b);
      std::vector<bench::Speeds> reel, openblas;
      std::vector<double> ratios;
      auto take_turns = [&] {
        reel.push_back(bench::speeds_once(gflop, [&] {
          kernels::batched_matmul({&p.batch, 1}, p.m, p.n, p.k, left, {&a_step, 1}, right, {&b_step, 1},
                                  c.data<float>());
        }));
        if (!blas.found()) return;
        openblas.push_back(bench::speeds_once(gflop, [&] {
          for (int64_t i = 0; i < p.batch; ++i) {
            blas.matmul(p.m, p.n, p.k, {left.data + i * a_step, left.row_stride, left.col_stride},
                        {right.data + i * b_step, right.row_stride, right.col_stride}, c.data<float>() + i * c_step);
          }
        }));
        ratios.push_back(reel.back().run / openblas.back().run);
      };
      bench::repeat(take_turns, std::chrono::milliseconds(300), 7);
      std::printf("%8.0f", 100 * bench::median_share(reel).share());
      if (!blas.found()) continue;
      std::printf(" (%3.0f)", 100 * bench::median_share(openblas).share());
      std::ostringstream name;
      name << p.batch << " of " << p.m << " x " << p.k << " by " << p.k << " x " << p.n << ", "
           << (transpose_a ? "a' b" : "a b") << (transpose_b ? "'" : "");
      lead.add(bench::median(ratios), name.str());
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

// ---- attention ----

/// texts x heads matrices of length x width, cut out of (texts, length, heads width) as layers do it.
struct Attention {
  const char* workload;
  int64_t texts, heads, length, width;
  bool causal;
  double kept;  // of the heads, so many keep their weights
};

const Attention attentions[] = {{"classify", 4, 8, 512, 128, false, 20.0 / 32},
                                {"classify-mean", 32, 8, 100, 100, false, 1},
                                {"generate", 16, 8, 128, 128, true, 1},
                                {"naive", 1, 1, 256, 256, true, 1},
                                {"translate", 64, 8, 24, 32, false, 1}};

/// A line of the table: percentages of the multipliers' speed, forward and backward.
void print_attention(const Attention& a) {
  const int64_t batch[] = {a.texts, a.heads}, row = a.heads * a.width, strides[] = {a.length * row, a.width};
  auto numbers = [&] { return randn({a.texts * a.length * row}); };
  const Tensor q = numbers(), k = numbers(), v = numbers(), out = numbers(), dout = numbers(), dq = numbers(),
               dk = numbers(), dv = numbers(), log_sums({a.texts * a.heads * a.length}, DType::f32);
  auto read = [&](const Tensor& x) { return kernels::Heads<const float>{{x.data<float>(), row, 1}, strides}; };
  auto write = [&](const Tensor& x) { return kernels::Heads<float>{{x.data<float>(), row, 1}, strides}; };
  kernels::AttentionShape shape{
      .batch = batch, .queries = a.length, .keys = a.length, .width = a.width, .value_width = a.width, .scale = 0.1};
  if (a.causal) shape.reach = 0;
  shape.heads_kept = static_cast<int64_t>(a.kept * static_cast<double>(kernels::product(batch)));
  const Tensor kept({shape.heads_kept * kernels::weights_size<float>(shape)}, DType::f32);
  float* const weights = kept.data<float>();

  const double product = 2e-9 * static_cast<double>(shape.work() / 2) * (a.causal ? 0.5 : 1);
  const bench::Speeds forward = bench::speeds_of(2 * product, [&] {
    kernels::attention<float>(shape, read(q), read(k), read(v), write(out), log_sums.data<float>(), weights);
  });
  const bench::Speeds backward = bench::speeds_of((5 - a.kept) * product, [&] {
    kernels::attention_backward<float>(shape, read(q), read(k), read(v), read(out), log_sums.data<float>(), weights,
                                       read(dout), write(dq), write(dk), write(dv));
  });
  std::printf("%-14s%6lld%6lld%6lld%10.0f%10.0f\n", a.workload, static_cast<long long>(a.texts * a.heads),
              static_cast<long long>(a.length), static_cast<long long>(a.width), 100 * forward.share(),
              100 * backward.share());
  std::fflush(stdout);
}

// ---- what memory binds ----

/// `numbers` of 4 bytes are read or written at least.
template <class Run>
void print_traffic(const char* name, int64_t numbers, const Run& run) {
  const double copy = bench::copy_bandwidth();
  const double speed = 4e-9 * static_cast<double>(numbers) / bench::best_seconds(run);
  std::printf("%-44s%8.1f GB/s%8.0f %%\n", name, speed, 100 * speed / copy);
  std::fflush(stdout);
}

void print_all_traffic() {
  constexpr int64_t rows = 32768, columns = 512, count = rows * columns;  // 64 MB
  const Tensor x = randn({rows, columns}), y = randn({rows, columns}), scale = ones({columns}),
               shift = zeros({columns});
  print_traffic("relu", 2 * count, [&] { relu(x); });
  print_traffic("gelu", 2 * count, [&] { gelu(x); });
  print_traffic("x + y", 3 * count, [&] { x + y; });
  print_traffic("softmax of 512", 2 * count, [&] { softmax(x, -1); });
  print_traffic("layer norm of 512", 2 * count, [&] { layer_norm(x, scale, shift); });
  const Tensor narrow = randn({rows, 100}), narrow_scale = ones({100}), narrow_shift = zeros({100});
  print_traffic("softmax of 100", 2 * narrow.numel(), [&] { softmax(narrow, -1); });
  print_traffic("layer norm of 100", 2 * narrow.numel(), [&] { layer_norm(narrow, narrow_scale, narrow_shift); });
  print_traffic("dropout", 2 * count, [&] { dropout(x, 0.1); });
  print_traffic("sum", count, [&] { sum(x); });

  constexpr int64_t vocabulary = 50000, width = 128, tokens = 100000;
  const Tensor table = randn({vocabulary, width}), dy = randn({tokens, width});
  Ids ids = Ids::zeros({tokens});
  for (std::int32_t& id : ids.values()) id = static_cast<std::int32_t>(default_generator().below(vocabulary));
  print_traffic("embedding of 100,000 tokens", 2 * tokens * width, [&] { embedding(table, ids); });
  print_traffic("and backward", tokens * width + vocabulary * width, [&] { embedding_sum(dy, ids, vocabulary); });
  const int64_t rows_read = coalesce(dy, ids, vocabulary).rows.numel();
  print_traffic("and backward, rows alone", (tokens + rows_read) * width, [&] { coalesce(dy, ids, vocabulary); });

  Tensor parameter = randn({rows, columns});
  parameter.set_requires_grad().set_grad(y);
  optim::Adam adam({parameter});
  // It reads the gradient, and reads and writes weights and both moments.
  print_traffic("Adam", 7 * count, [&] { adam.step(); });

  const Tensor words = randn({vocabulary, width}).set_requires_grad();
  {
    Tape tape;
    tape.backward(sum(embedding(words, Ids(std::vector(ids.data(), ids.data() + 2048)))));
  }
  optim::Adam exact({words}), lazy({words}, {.lazy = true});
  print_traffic("Adam, 2,048 rows of 50,000", 6 * vocabulary * width, [&] { exact.step(); });
  print_traffic("lazy Adam, the same", 7 * words.row_grad()->values.numel(), [&] { lazy.step(); });
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  kernels::set_threads(threads);
  const bench::OpenBlas blas(threads);
  const Tensor square = randn({1024, 1024});
  const bench::Speeds after_product = bench::speeds_of(2e-9 * (1 << 30), [&] { matmul(square, square); });
  std::printf("%d thread(s), multipliers %.1f GFLOP/s, %.1f right after a product of 1024 x 1024; copying %.1f GB/s.\n",
              threads, bench::fma_peak<float>(), after_product.multipliers, bench::copy_bandwidth());
  if (blas.found()) std::printf("In brackets: %s\n", blas.name().c_str());
  const int column = blas.found() ? 14 : 8;
  std::printf(
      "\nMatrix products m x k by k x n, %% of the multipliers' speed right after; ' is a transposed operand\n");
  std::printf("%6s%6s%6s%6s", "batch", "m", "k", "n");
  for (const char* operands : {"a b", "a b'", "a' b", "a' b'"}) std::printf("%*s", column, operands);
  std::printf("\n");
  Lead lead;
  for (const Product& product : plain_products()) print_product(product, blas, lead);
  std::printf("\n");
  for (const Product& product : of_workloads()) print_product(product, blas, lead);
  lead.print();

  std::printf(
      "\nAttention, %% of the multipliers' speed: two products forward; back five, or four of kept weights; half of\n");
  std::printf("each under a causal mask\n%-14s%6s%6s%6s%10s%10s\n", "", "heads", "T", "width", "forward", "backward");
  for (const Attention& attention : attentions) print_attention(attention);

  std::printf("\nWhat memory binds: bytes that must be read or written at least, %% of copying just before\n");
  print_all_traffic();
}
