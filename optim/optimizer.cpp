#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/row_runs.h"
#include "autograd/kernels/updates.h"
#include "autograd/row_gradient.h"
#include "autograd/tape.h"

namespace reel::optim {
namespace {

void check_share(const char* name, double value) {
  if (!(value >= 0 && value < 1)) fail("optimizer: ", name, " is ", value, "; need 0 <= ", name, " < 1");
}

void check_not_negative(const char* name, double value) {
  if (!(value >= 0 && std::isfinite(value))) {
    fail("optimizer: the ", name, " is ", value, "; need a finite one that is not negative");
  }
}

void check_options(const AdamOptions& options) {
  check_share("beta1", options.beta1);
  check_share("beta2", options.beta2);
  check_not_negative("epsilon", options.epsilon);
}

/// What happens to rows of a table that have no gradient.
enum class Untouched { update, skip };

/// body(start, n, gradient) for stretches of a parameter: n adjacent numbers from number `start` on, and where theirs
/// of the gradient are; null for zeros.
template <class T, class Body>
void for_each_stretch(const Tensor& parameter, Untouched untouched, const Body& body) {
  const RowGradient* gradient = parameter.row_grad();
  // Runs of rows as short as this cost more than a dense pass: the gradient is made dense, zeros and all.
  const bool fill_up = untouched == Untouched::update && gradient && parameter.size(1) < 16;
  if (!gradient || fill_up) return body(int64_t{0}, parameter.numel(), parameter.grad().data<T>());
  const kernels::TouchedRows<T> touched{gradient->rows.values(), gradient->values.data<T>(), parameter.size(1)};
  if (untouched == Untouched::update) {
    kernels::for_each_run(parameter.size(0), touched, body);
  } else {
    kernels::for_each_touched_run(touched, body);
  }
}

}  // namespace

ParameterGroups decay_matrices_only(const std::vector<Tensor>& parameters, double weight_decay) {
  ParameterGroup matrices{{}, weight_decay}, others{{}, 0};
  for (const Tensor& parameter : parameters) {
    (parameter.rank() >= 2 ? matrices : others).parameters.push_back(parameter);
  }
  return {matrices, others};
}

Optimizer::Optimizer(const ParameterGroups& groups, double learning_rate, std::vector<std::string> moment_names)
    : moment_names_(std::move(moment_names)) {
  set_learning_rate(learning_rate);
  for (const auto& [parameters, weight_decay] : groups) {
    check_not_negative("weight decay", weight_decay);
    for (const Tensor& parameter : parameters) {
      if (std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.parameter.same(parameter); })) {
        fail("optimizer: a parameter of the shape ", parameter.shape(), " is given twice; it would move twice a step");
      }
      if (!parameter.is_contiguous()) {
        fail("optimizer: a parameter of the shape ", parameter.shape(), " is not contiguous");
      }
      Slot slot{parameter, weight_decay, {}};
      for (std::size_t i = 0; i < moment_names_.size(); ++i) {
        slot.moments.push_back(zeros(parameter.shape(), parameter.dtype()));
      }
      slots_.push_back(std::move(slot));
      steps_.push_back(zeros({}, DType::f64));
    }
  }
  if (slots_.empty()) fail("optimizer: there is no parameter to train; does the model name its own? (nn/module.h)");
}

void Optimizer::step() {
  const NoGrad no_grad;  // a tape may live still, and an update be written with operations
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Tensor& parameter = slots_[i].parameter;
    if (!parameter.has_grad()) continue;
    double& steps = *steps_[i].data<double>();
    update(slots_[i], steps + 1);
    ++steps;
    parameter.mark_written();
  }
}

void Optimizer::set_learning_rate(double rate) {
  check_not_negative("learning rate", rate);
  learning_rate_ = rate;
}

void Optimizer::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.zero_grad();
}

NamedTensors Optimizer::state_dict() const {
  NamedTensors state;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::string prefix = std::to_string(i) + ".";
    state.emplace_back(prefix + "step", steps_[i]);
    for (std::size_t m = 0; m < moment_names_.size(); ++m) {
      state.emplace_back(prefix + moment_names_[m], slots_[i].moments[m]);
    }
  }
  return state;
}

void Optimizer::load_state_dict(const NamedTensors& state) {
  const NamedTensors own = this->state_dict();
  if (state.size() != own.size()) {
    fail("optimizer: the saved state has ", state.size(), " tensors, this one has ", own.size(),
         "; it is of another optimizer or model");
  }
  for (const auto& [name, tensor] : own) {
    const Tensor* const value = find(state, name);
    if (!value) fail("optimizer: the saved state lacks ", name, "; it is of another optimizer or model");
    if (value->shape() != tensor.shape()) {
      fail("optimizer: the saved ", name, " is ", value->shape(), ", this one's ", tensor.shape(),
           "; it is of another optimizer or model");
    }
    if (!name.ends_with(".step")) continue;
    if (const double steps = value->item(); !(steps >= 0 && std::isfinite(steps) && steps == std::floor(steps))) {
      fail("optimizer: the saved ", name, " is ", steps, "; need a whole number of steps, none or more");
    }
  }
  for (const auto& [name, tensor] : own) copy(*find(state, name), tensor);
}

SGD::SGD(const ParameterGroups& groups, const SGDOptions& options)
    : Optimizer(groups, options.learning_rate,
                options.momentum > 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{}),
      options_(options) {
  check_share("momentum", options.momentum);
}

void SGD::update(const Slot& slot, double) {
  const bool keeps_still = slot.moments.empty() && slot.weight_decay == 0;  // where the gradient is 0
  with_type(slot.parameter.dtype(), [&]<class T>(T) {
    T* x = slot.parameter.data<T>();
    T* velocity = slot.moments.empty() ? nullptr : slot.moments[0].data<T>();
    for_each_stretch<T>(slot.parameter, keeps_still ? Untouched::skip : Untouched::update,
                        [&](int64_t start, int64_t n, const T* gradient) {
                          kernels::sgd(n, x + start, gradient, velocity ? velocity + start : nullptr,
                                       static_cast<T>(learning_rate()), static_cast<T>(options_.momentum),
                                       static_cast<T>(slot.weight_decay));
                        });
  });
}

Adam::Adam(const ParameterGroups& groups, const AdamOptions& options) : Adam(groups, options, Decay::in_gradient) {}

Adam::Adam(const ParameterGroups& groups, const AdamOptions& options, Decay decay)
    : Optimizer(groups, options.learning_rate, {"exp_avg", "exp_avg_sq"}), options_(options), decay_(decay) {
  check_options(options);
}

void Adam::update(const Slot& slot, double t) {
  const bool decoupled = decay_ == Decay::decoupled;
  with_type(slot.parameter.dtype(), [&]<class T>(T) {
    const kernels::AdamStep<T> step{
        .rate = static_cast<T>(learning_rate() / (1 - std::pow(options_.beta1, t))),
        .beta1 = static_cast<T>(options_.beta1),
        .gain1 = static_cast<T>(1 - options_.beta1),
        .beta2 = static_cast<T>(options_.beta2),
        .gain2 = static_cast<T>(1 - options_.beta2),
        .root_scale = static_cast<T>(1 / std::sqrt(1 - std::pow(options_.beta2, t))),
        .epsilon = static_cast<T>(options_.epsilon),
        .gradient_decay = static_cast<T>(decoupled ? 0 : slot.weight_decay),
        .shrink = static_cast<T>(decoupled ? 1 - learning_rate() * slot.weight_decay : 1),
    };
    T *x = slot.parameter.data<T>(), *m = slot.moments[0].data<T>(), *v = slot.moments[1].data<T>();
    for_each_stretch<T>(slot.parameter, options_.lazy ? Untouched::skip : Untouched::update,
                        [&](int64_t start, int64_t n, const T* gradient) {
                          kernels::adam(n, x + start, gradient, m + start, v + start, step);
                        });
  });
}

}  // namespace reel::optim
