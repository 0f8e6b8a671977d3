#include "apps/common/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "apps/common/nearest.h"
#include "apps/common/numbers.h"
#include "apps/common/words.h"
#include "autograd/utf8.h"
#include "data/joined.h"

namespace reel::apps {

namespace {

/// The PyTorch scripts that Reel follows write --tb_dir, others --tb-dir.
std::string with_hyphens(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// The whole of `word` as a number. Throws UsageError.
template <class Number>
Number parse_number(const std::string& name, std::string_view word) {
  static constexpr const char* kind = std::is_integral_v<Number> ? "a whole number" : "a number";
  Number number{};
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  bool whole = end == word.data() + word.size();
  if (whole && error == std::errc::result_out_of_range) {
    fail<UsageError>("--", name, ": ", in_quotes(word), " is too large or too small for ", kind);
  }
  if (!whole || error != std::errc() || !std::isfinite(static_cast<double>(number))) {
    fail<UsageError>("--", name, ": ", in_quotes(word), " is not ", kind);
  }
  return number;
}

/// Both for a constant list and for one that may change.
template <class List>
auto* find_name(List& options, std::string_view name) {
  auto found = std::find_if(options.begin(), options.end(),
                            [wanted = with_hyphens(name)](auto& option) { return option.name == wanted; });
  return found == options.end() ? nullptr : &*found;
}

template <class List>
auto* find_letter(List& options, char letter) {
  auto found = std::find_if(options.begin(), options.end(), [&](auto& option) { return option.letter == letter; });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace

bool Range::contains(double value) const {
  return (low_is_in ? value >= low : value > low) && (high_is_in ? value <= high : value < high);
}

std::string Range::words() const {
  bool above = std::isfinite(low);
  bool below = std::isfinite(high);
  if (above && below && low_is_in && high_is_in) return text("from ", number_text(low), " to ", number_text(high));
  std::string out;
  if (above) out = text(low_is_in ? "at least " : "more than ", number_text(low));
  if (below) out += text(above ? " and " : "", high_is_in ? "at most " : "less than ", number_text(high));
  return out;
}

std::string Options::Condition::words() const {
  const std::vector<std::string> before_last(values.begin(), values.end() - 1);
  return text("--", option, " ", data::joined(before_last, ", "), before_last.empty() ? "" : " or ", values.back());
}

// ---- declaration

void Options::section(std::string title, Fixed fixed) {
  sections_.push_back({std::move(title), {}, fixed, options_.size()});
}

void Options::section(std::string title, Condition condition) {
  sections_.push_back({std::move(title), std::move(condition), Fixed::no, options_.size()});
}

Options& Options::add_option(Option option) {
  if (option.name.find(',') == 1) {
    option.letter = option.name[0];
    option.name.erase(0, 2);
  }
  if (option.name.find(',') != std::string::npos) fail("options: a letter is one character, not ", option.name);
  option.name = with_hyphens(option.name);
  if (find_name(options_, option.name) || option.name == "help") fail("options: --", option.name, " is declared twice");
  if (option.letter && (find_letter(options_, *option.letter) || option.letter == 'h')) {
    fail("options: -", *option.letter, " is declared twice");
  }
  option.initial = option.get();
  option.set(option.initial);  // a default that breaks its own rule could be kept but not restored
  if (!sections_.empty()) {
    option.section_condition = sections_.back().condition;
    option.fixed = sections_.back().fixed;
  }
  options_.push_back(std::move(option));
  return *this;
}

Options& Options::add(std::int64_t* value, std::string name, std::string unit, std::string help, Range range) {
  return add_option({std::move(name), std::move(unit), std::move(help), value, range});
}

Options& Options::add(double* value, std::string name, std::string unit, std::string help, Range range) {
  return add_option({std::move(name), std::move(unit), std::move(help), value, range});
}

Options& Options::add(std::string* value, std::string name, std::string unit, std::string help) {
  return add_option({std::move(name), std::move(unit), std::move(help), value});
}

Options& Options::add_choice(std::string* value, std::string name, std::vector<std::string> choices, std::string help) {
  std::string unit = data::joined(choices, "|");
  return add_option({std::move(name), std::move(unit), std::move(help), value, {}, std::move(choices)});
}

Options& Options::add_flag(bool* value, std::string name, std::string help) {
  return add_option({std::move(name), "", std::move(help), value});
}

Options& Options::only_for(std::string other, std::vector<std::string> values) {
  if (options_.empty()) fail("options: there is none yet that could depend on --", other);
  options_.back().conditions.push_back({std::move(other), std::move(values)});
  return *this;
}

Options& Options::fixed(Fixed fixed) {
  if (options_.empty()) fail("options: there is none yet that could be fixed");
  options_.back().fixed = fixed;
  return *this;
}

void Options::add_arguments(std::vector<std::string>* values, std::string unit, std::string help) {
  arguments_ = {values, std::move(unit), std::move(help)};
}

// ---- values

void Options::Option::set(std::string_view word) {
  auto set_number = [&](auto& value) {
    auto number = parse_number<std::decay_t<decltype(value)>>(name, word);
    if (!range.contains(static_cast<double>(number))) {
      fail<UsageError>("--", name, ": ", word, " is out of range; need ", range.words());
    }
    value = number;
  };
  if (auto* flag = std::get_if<bool*>(&target)) {
    if (word != "true" && word != "false") {
      fail<UsageError>("--", name, ": ", in_quotes(word), " is neither true nor false");
    }
    **flag = word == "true";
  } else if (auto* integer = std::get_if<std::int64_t*>(&target)) {
    set_number(**integer);
  } else if (auto* real = std::get_if<double*>(&target)) {
    set_number(**real);
  } else {
    if (!choices.empty() && std::find(choices.begin(), choices.end(), word) == choices.end()) {
      fail<UsageError>("--", name, ": ", in_quotes(word), " is none of ", data::joined(choices, ", "));
    }
    if (!is_utf8(word)) fail<UsageError>("--", name, ": the value ", unit, " is not UTF-8");
    *std::get<std::string*>(target) = word;
  }
}

std::string Options::Option::get() const {
  if (auto* flag = std::get_if<bool*>(&target)) return **flag ? "true" : "false";
  if (auto* integer = std::get_if<std::int64_t*>(&target)) return std::to_string(**integer);
  if (auto* real = std::get_if<double*>(&target)) return number_text(**real);
  return *std::get<std::string*>(target);
}

std::string Options::Option::as_arguments(const std::string& value) const {
  return is_flag() ? text(value == "true" ? "--" : "--no-", name) : text("--", name, " ", value);
}

const Options::Option& Options::declared(std::string_view name) const {
  const Option* option = find_name(options_, name);
  if (!option) fail("options: there is no --", name);
  return *option;
}

bool Options::given(std::string_view name) const { return declared(name).given; }

bool Options::is_fixed(std::string_view name, Fixed at_least) const { return declared(name).fixed >= at_least; }

StringPairs Options::values() const {
  StringPairs result;
  for (const Option& option : options_) result.emplace_back(option.name, option.get());
  return result;
}

StringPairs Options::values_in_use() const {
  StringPairs result;
  for (const Option& option : options_) {
    if (!unmet(option)) result.emplace_back(option.name, option.get());
  }
  return result;
}

void Options::restore(const StringPairs& values, Fixed at_least) {
  for (const auto& [name, value] : values) {
    Option* option = find_name(options_, name);
    if (!option) fail("the stored configuration has an option --", name, ", which there is not");
    if (option->given || option->fixed < at_least) continue;
    try {
      option->set(value);
    } catch (const UsageError& error) {
      fail("the stored configuration does not fit: ", error.what());
    }
  }
}

void Options::set_defaults(const StringPairs& values) {
  for (const auto& [name, value] : values) {
    Option* option = find_name(options_, name);
    if (!option) fail("options: there is no --", name, " to have a default");
    if (!option->given && !unmet(*option)) option->set(value);
  }
}

std::string Options::as_arguments(const StringPairs& values) {
  std::vector<std::string> words;
  for (const auto& [name, value] : values) words.push_back(text("--", name, " ", value));
  return data::joined(words, " ");
}

const Options::Condition* Options::unmet(const Option& option) const {
  auto is_unmet = [&](const Condition& condition) {
    const Option* other = find_name(options_, condition.option);
    if (!other) fail("options: there is no --", condition.option, " for --", option.name, " to depend on");
    for (const std::string& value : condition.values) {
      if (std::find(other->choices.begin(), other->choices.end(), value) == other->choices.end()) {
        fail("options: --", other->name, " is never ", value, ", on which --", option.name, " depends");
      }
    }
    return std::find(condition.values.begin(), condition.values.end(), other->get()) == condition.values.end();
  };
  if (option.section_condition && is_unmet(*option.section_condition)) return &*option.section_condition;
  const auto found = std::find_if(option.conditions.begin(), option.conditions.end(), is_unmet);
  return found == option.conditions.end() ? nullptr : &*found;
}

void Options::refuse_idle() const {
  for (const Option& option : options_) {
    const Condition* condition = unmet(option);
    if (!condition || option.get() == option.initial) continue;
    const std::string value = find_name(options_, condition->option)->get();
    fail<UsageError>("--", option.name, ": only for ", condition->words(), ", not ", value, "; ",
                     option.given ? "leave it out" : "set it back with " + option.as_arguments(option.initial));
  }
}

// ---- the command line

/// One walk over the arguments.
class Options::Parser {
 public:
  Parser(Options& options, std::span<const std::string> arguments) : options_(options), rest_(arguments) {}

  void run() {
    while (!rest_.empty() && !options_.help_wanted_) {
      const std::string& argument = next();
      if (argument == "--") {
        while (!rest_.empty()) add_argument(next());
      } else if (argument.starts_with("--")) {
        long_option(std::string_view(argument).substr(2));
      } else if (argument.size() > 1 && argument[0] == '-') {
        letters(std::string_view(argument).substr(1));
      } else {
        add_argument(argument);
      }
    }
  }

 private:
  const std::string& next() {
    const std::string& argument = rest_.front();
    rest_ = rest_.subspan(1);
    return argument;
  }

  void add_argument(const std::string& argument) {
    if (!options_.arguments_.values) {
      fail<UsageError>("unexpected argument ", in_quotes(argument), "; options begin with -");
    }
    options_.arguments_.values->push_back(argument);
  }

  /// NAME, NAME=VALUE or, for a flag, no-NAME
  void long_option(std::string_view argument) {
    std::size_t equals = argument.find('=');
    bool has_value = equals != std::string_view::npos;
    std::string name = with_hyphens(argument.substr(0, equals));
    if (name == "help") {
      options_.help_wanted_ = true;
      return;
    }
    const auto [option, turned_off] = find_long(name);
    if (!option) unknown(name);
    if (option->is_flag()) {
      if (has_value) fail<UsageError>("--", name, " takes no value");
      give(*option, turned_off ? "false" : "true");
    } else {
      give(*option, has_value ? argument.substr(equals + 1) : following_value(*option));
    }
  }

  /// After one hyphen: letters of flags, then perhaps that of an option, whose value is the rest or follows.
  void letters(std::string_view argument) {
    while (!argument.empty()) {
      char letter = argument[0];
      argument.remove_prefix(1);
      if (letter == 'h') {
        options_.help_wanted_ = true;
        return;
      }
      Option* option = find_letter(options_.options_, letter);
      if (!option) fail<UsageError>("unknown option ", in_quotes(std::string("-") + letter), "; -h lists the options");
      if (option->is_flag()) {
        give(*option, "true");
        continue;
      }
      if (argument.starts_with("=")) argument.remove_prefix(1);
      give(*option, argument.empty() ? following_value(*option) : argument);
      return;
    }
  }

  static void give(Option& option, std::string_view value) {
    // as of a shell's variable that is not set: what is left out then would be something else
    if (value.empty() && option.takes_text()) {
      fail<UsageError>("--", option.name, ": the value ", option.unit, " is empty");
    }
    option.set(value);
    option.given = true;
  }

  std::string_view following_value(const Option& option) {
    if (rest_.empty()) fail<UsageError>("--", option.name, ": the value ", option.unit, " is missing");
    const std::string& word = rest_.front();
    const char* taken_as = word == "--"             ? "ends the options"
                           : names_an_option(word)  ? "is an option"
                           : word.starts_with("--") ? "begins like an option"
                                                    : nullptr;
    if (taken_as) {
      fail<UsageError>("--", option.name, ": the value ", option.unit, " is missing; ", in_quotes(word), " after it ",
                       taken_as, " (a value like that is written with =)");
    }
    return next();
  }

  /// What a name after two hyphens stands for.
  struct Named {
    Option* option = nullptr;  // null if there is none
    bool turned_off = false;   // a flag, with no- before its name
  };
  Named find_long(const std::string& name) const {
    if (Option* option = find_name(options_.options_, name)) return {option};
    Option* flag = name.starts_with("no-") ? find_name(options_.options_, name.substr(3)) : nullptr;
    return flag && flag->is_flag() ? Named{flag, true} : Named{};
  }

  bool names_an_option(std::string_view argument) const {
    if (argument.starts_with("--")) {
      const std::string name = with_hyphens(argument.substr(2, argument.find('=') - 2));
      return name == "help" || find_long(name).option;
    }
    return argument.size() > 1 && argument[0] == '-' &&
           (argument[1] == 'h' || find_letter(options_.options_, argument[1]));
  }

  [[noreturn]] void unknown(const std::string& name) const {
    std::vector<std::string> names{"help"};
    for (const Option& option : options_.options_) names.push_back(option.name);
    std::string nearest = nearest_name(name, names);
    fail<UsageError>("unknown option ", in_quotes("--" + name),
                     nearest.empty() ? "; -h lists the options" : text("; did you mean --", nearest, "?"));
  }

  Options& options_;
  std::span<const std::string> rest_;
};

void Options::parse(std::span<const std::string> arguments) { Parser(*this, arguments).run(); }

}  // namespace reel::apps
