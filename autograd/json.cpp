#include "autograd/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "autograd/error.h"
#include "autograd/utf8.h"

namespace reel {

namespace {

/// A name that two of the entries have, as JSON writes it.
std::optional<std::string> name_twice(const Json::Object& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return std::nullopt;
  return Json(std::string(*twice)).write();
}

/// One pass over the text, by recursive descent, never deeper than Json::max_depth.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json document() {
    check_utf8(text_, "json");
    Json result = value(0);
    skip_space();
    if (at_ < text_.size()) wrong("nothing more may follow the value");
    return result;
  }

 private:
  [[noreturn]] void wrong(std::string_view what) const { fail("json: ", what, " (at byte ", at_, ")"); }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool accept(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  Json value(int depth) {
    skip_space();
    if (at_ == text_.size()) wrong("the text ends where a value should be");
    switch (text_[at_]) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case '"':
        return string();
      case 't':
        return word("true", Json(true));
      case 'f':
        return word("false", Json(false));
      case 'n':
        return word("null", Json());
      default:
        return number();
    }
  }

  Json word(std::string_view spelling, Json meaning) {
    if (text_.substr(at_, spelling.size()) != spelling) wrong("this is no value");
    at_ += spelling.size();
    return meaning;
  }

  void open(int depth) {
    if (depth > Json::max_depth) wrong(text("arrays and objects nest deeper than ", Json::max_depth));
    ++at_;
    skip_space();
  }

  /// After an element: true when another one follows, false at the end.
  bool another(char close) {
    skip_space();
    if (accept(close)) return false;
    if (!accept(',')) wrong(close == ']' ? "a list needs , or ] here" : "an object needs , or } here");
    skip_space();
    return true;
  }

  Json array(int depth) {
    open(depth);
    Json::Array items;
    if (accept(']')) return items;
    do items.push_back(value(depth));
    while (another(']'));
    return items;
  }

  Json object(int depth) {
    open(depth);
    Json::Object entries;
    if (accept('}')) return entries;
    do {
      if (peek() != '"') wrong("an object's entry needs a name in double quotes here");
      std::string key = string();
      skip_space();
      if (!accept(':')) wrong("an object's entry needs : after its name");
      Json entry = value(depth);
      entries.emplace_back(std::move(key), std::move(entry));
    } while (another('}'));
    check_distinct(entries);
    return entries;
  }

  void check_distinct(const Json::Object& entries) const {
    if (auto twice = name_twice(entries)) wrong(text("the object before this has two entries ", *twice));
  }

  std::string string() {
    std::string out;
    ++at_;
    while (!accept('"')) {
      if (at_ == text_.size()) wrong("the text ends inside a string");
      if (static_cast<unsigned char>(text_[at_]) < 0x20) wrong("a control character in a string must be escaped");
      if (accept('\\')) {
        escape(out);
      } else {
        out.push_back(text_[at_++]);
      }
    }
    return out;
  }

  void escape(std::string& out) {
    static constexpr std::string_view letters = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (accept('u')) {
      out += encode_utf8(escaped_code());
      return;
    }
    std::size_t i = at_ < text_.size() ? letters.find(text_[at_]) : std::string_view::npos;
    if (i == std::string_view::npos) wrong("no such escape in a string");
    out.push_back(meanings[i]);
    ++at_;
  }

  /// After \u: four digits, or two times four for a code beyond U+FFFF (a surrogate pair).
  char32_t escaped_code() {
    const char32_t code = hex4();
    if (code < 0xD800 || code > 0xDFFF) return code;
    if (code > 0xDBFF || !accept('\\') || !accept('u')) wrong("\\u escapes half a surrogate pair");
    const char32_t low = hex4();
    if (low < 0xDC00 || low > 0xDFFF) wrong("\\u escapes half a surrogate pair");
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }

  char32_t hex4() {
    std::string_view digits = text_.substr(at_, 4);
    std::uint32_t code = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) {
      wrong("\\u needs four hexadecimal digits");
    }
    at_ += 4;
    return code;
  }

  void digits() {
    if (!is_digit(peek())) wrong("a digit is missing");
    while (is_digit(peek())) ++at_;
  }

  static bool is_digit(char c) { return '0' <= c && c <= '9'; }

  Json number() {
    std::size_t start = at_;
    bool negative = accept('-');
    if (!negative && !is_digit(peek())) wrong("this is no value");
    if (!accept('0')) digits();
    std::size_t whole_end = at_;
    if (accept('.')) digits();
    if (accept('e') || accept('E')) {
      if (!accept('+')) accept('-');
      digits();
    }
    const char* first = text_.data() + start;
    const char* last = text_.data() + at_;
    if (at_ == whole_end) {
      std::int64_t integer = 0;
      if (std::from_chars(first, last, integer).ec == std::errc()) return integer;
    }
    double real = 0;
    if (std::from_chars(first, last, real).ec != std::errc()) {
      at_ = start;
      wrong("a number is too large or too small for a double");
    }
    return real;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void write_string(std::string& out, std::string_view value) {
  static constexpr std::string_view hex = "0123456789abcdef";
  check_utf8(value, "json: a string that is to be written");
  out.push_back('"');
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (byte < 0x20) {
      out.append("\\u00");
      out.push_back(hex[byte >> 4]);
      out.push_back(hex[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void write_number(std::string& out, auto value) {
  std::array<char, 32> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

}  // namespace

Json Json::parse(std::string_view text) { return Parser(text).document(); }

std::string Json::write() const {
  std::string out;
  write(out);
  return out;
}

void Json::write(std::string& out) const {
  if (auto* truth = get_if<bool>()) {
    out.append(*truth ? "true" : "false");
  } else if (auto* integer = get_if<std::int64_t>()) {
    write_number(out, *integer);
  } else if (auto* real = get_if<double>()) {
    if (!std::isfinite(*real)) fail("json: ", *real, " cannot be written; JSON has finite numbers only");
    std::size_t start = out.size();
    write_number(out, *real);
    if (out.find_first_of(".e", start) == std::string::npos) out.append(".0");  // so that it is read as a double again
  } else if (auto* string = get_if<std::string>()) {
    write_string(out, *string);
  } else if (auto* items = get_if<Array>()) {
    const char* before = "[";
    for (const Json& item : *items) {
      out.append(std::exchange(before, ","));
      item.write(out);
    }
    out.append(items->empty() ? "[]" : "]");
  } else if (auto* entries = get_if<Object>()) {
    if (auto twice = name_twice(*entries)) fail("json: an object with two entries ", *twice, " cannot be written");
    const char* before = "{";
    for (const auto& [key, entry] : *entries) {
      out.append(std::exchange(before, ","));
      write_string(out, key);
      out.push_back(':');
      entry.write(out);
    }
    out.append(entries->empty() ? "{}" : "}");
  } else {
    out.append("null");
  }
}

double Json::number() const {
  if (auto* integer = get_if<std::int64_t>()) return static_cast<double>(*integer);
  return get<double>();
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, entry] : get<Object>()) {
    if (name == key) return &entry;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  const Json* entry = find(key);
  if (!entry) fail("json: the object has no entry ", Json(std::string(key)).write());
  return *entry;
}

const char* Json::kind() const {
  static constexpr std::array names = {"null",     "true or false", "an integer", "a number",
                                       "a string", "a list",        "an object"};
  return names[value_.index()];
}

void Json::wrong_kind(const Json& wanted) const { fail("json: need ", wanted.kind(), ", found ", kind()); }

}  // namespace reel
