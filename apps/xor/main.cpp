// The smallest whole program: a network learns exclusive or.

#include <iostream>

#include "autograd/creation.h"
#include "autograd/tape.h"
#include "nn/layers.h"
#include "optim/optimizer.h"

using namespace reel;

int main() {
  manual_seed(1);
  nn::Sequential model(nn::Linear(2, 16), relu, nn::Linear(16, 1));
  optim::Adam optimizer(model.parameters(), {.learning_rate = 0.02});
  const Tensor x = tensor({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), y = tensor({4, 1}, {0, 1, 1, 0});
  for (int step = 0; step <= 300; ++step) {
    Tape tape;  // records what is computed from here on
    const Tensor error = model(x) - y, loss = mean(error * error);
    tape.backward(loss);  // fills in the parameters' gradients
    optimizer.step();
    optimizer.zero_grad();
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss.item() << '\n';
  }
  for (double out : model(x).to_vector()) std::cout << out << '\n';  // no tape, no recording
}
