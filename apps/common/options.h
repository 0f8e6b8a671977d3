#pragma once
// Command-line options: each is declared once, with its names, unit, help and limits, and bound to a variable that it
// fills. The declaration also yields the page that -h prints and the list that a checkpoint keeps.
//
//     Options options;
//     options.section("Training");
//     options.add(&config.batch_size, "b,batch-size", "N", "examples in a step", at_least(1));
//     options.add_flag(&config.final_run, "f,final", "score the test set once, at the end");
//     options.parse(arguments);
//
// Written as --batch-size 12, --batch-size=12, --batch_size 12, -b 12 or -b12; a flag as --final, -f or --no-final.
// The last of several wins, and -- ends the options. What the variable holds at its declaration is the default.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/common/string_pairs.h"
#include "autograd/error.h"

namespace reel::apps {

/// The command line asks for what there is not. what() is one line that names the option.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The numbers that an option takes.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_in = true;
  bool high_is_in = true;

  bool contains(double value) const;
  /// "at least 1", "from 0 to 1", "more than 0 and less than 1"; empty where every number is in.
  std::string words() const;

  Range and_at_most(double value) const { return {low, value, low_is_in, true}; }
  Range and_less_than(double value) const { return {low, value, low_is_in, false}; }
};

inline Range at_least(double value) { return Range{.low = value}; }
inline Range more_than(double value) { return Range{.low = value, .low_is_in = false}; }

/// Whether an option has to stay as it was.
enum class Fixed {
  no,
  in_run,        // --resume cannot change it: how the data are cut, for instance
  with_weights,  // neither can a run that begins with the weights of another: the size of the model
};

class Options {
 public:
  /// An option has a meaning only while the choice `option` has one of `values`, of which there is at least one.
  struct Condition {
    std::string option;
    std::vector<std::string> values;

    /// "--model gtransformer, naive or conv"
    std::string words() const;
  };

  /// Starts a section: -h lists what is added from here on under this title. All of it is fixed, or shares a condition.
  void section(std::string title, Fixed fixed = Fixed::no);
  void section(std::string title, Condition condition);

  // `name` is "batch-size" or, with a letter, "b,batch-size"; `unit` stands for the value in the help: N, RATE, FILE.
  // Each variable must outlive the Options and hold a default that is in the range.
  Options& add(std::int64_t* value, std::string name, std::string unit, std::string help, Range range = {});
  Options& add(double* value, std::string name, std::string unit, std::string help, Range range = {});
  Options& add(std::string* value, std::string name, std::string unit, std::string help);
  /// One word out of `choices`.
  Options& add_choice(std::string* value, std::string name, std::vector<std::string> choices, std::string help);
  Options& add_flag(bool* value, std::string name, std::string help);
  /// A condition of the option added last.
  Options& only_for(std::string other, std::vector<std::string> values);
  /// Whether the option added last is, whatever its section says.
  Options& fixed(Fixed fixed);
  /// Arguments that are no options; without this they are refused.
  void add_arguments(std::vector<std::string>* values, std::string unit, std::string help);

  /// Fills the variables. At -h or --help it stops, and help_wanted() is true. Throws UsageError, also where a text is
  /// empty, or not UTF-8: a checkpoint could not keep that.
  void parse(std::span<const std::string> arguments);

  bool help_wanted() const { return help_wanted_; }
  /// The page for `command`, say "generate train", wrapped at `width` columns.
  std::string help(std::string_view command, std::string_view summary, int width) const;

  /// Whether the command line named this option.
  bool given(std::string_view name) const;
  bool is_fixed(std::string_view name, Fixed at_least) const;
  /// Its value before any was set.
  const std::string& initial(std::string_view name) const { return declared(name).initial; }

  /// Sets options that were not given and whose conditions are met.
  void set_defaults(const StringPairs& values);
  /// "--embedding 64 --heads 2": such defaults for a help to list.
  static std::string as_arguments(const StringPairs& values);
  /// "--embedding 64", "--tie" or "--no-tie": what a command line says to give the option that value.
  std::string as_arguments(std::string_view name, const std::string& value) const {
    return declared(name).as_arguments(value);
  }
  /// Throws UsageError if an option differs from its default while a condition of it is not met.
  void refuse_idle() const;

  /// Every option with its value, in order of declaration, for a checkpoint to keep.
  StringPairs values() const;
  /// Those whose conditions are met, for people to read.
  StringPairs values_in_use() const;
  /// Puts kept values back, of options that are fixed at least so, except where the command line said otherwise. Throws
  /// Error at a name or value that does not fit, since then the list comes from elsewhere.
  void restore(const StringPairs& values, Fixed at_least = Fixed::no);

 private:
  using Target = std::variant<bool*, std::int64_t*, double*, std::string*>;

  struct Option {
    std::string name;
    std::string unit;
    std::string help;
    Target target;
    Range range{};
    std::vector<std::string> choices{};
    std::optional<char> letter{};
    std::string initial{};
    std::vector<Condition> conditions{};  // but for that of its section
    std::optional<Condition> section_condition{};
    Fixed fixed = Fixed::no;
    bool given = false;

    bool is_flag() const { return std::holds_alternative<bool*>(target); }
    bool takes_text() const { return std::holds_alternative<std::string*>(target) && choices.empty(); }
    void set(std::string_view text);
    std::string get() const;
    std::string as_arguments(const std::string& value) const;
    /// "  -b, --batch-size N"
    std::string usage() const;
    /// The help, then the default and the limits in brackets.
    std::string description() const;
  };

  struct Section {
    std::string title;
    std::optional<Condition> condition;
    Fixed fixed;
    std::size_t first;  // among options_
  };

  struct Arguments {
    std::vector<std::string>* values = nullptr;
    std::string unit;
    std::string help;
  };

  class Parser;

  Options& add_option(Option option);
  const Option& declared(std::string_view name) const;
  /// The first condition of `option` that is not met; null if none.
  const Condition* unmet(const Option& option) const;

  std::vector<Option> options_;
  std::vector<Section> sections_;
  Arguments arguments_;
  bool help_wanted_ = false;
};

}  // namespace reel::apps
