#pragma once
// JSON (RFC 8259), strict and small: what the head of a safetensors file and a stored configuration are written in.
//
// The reader takes files from anywhere: it bounds the depth of nesting, insists on valid UTF-8 and on distinct keys,
// and says at which byte a text goes wrong. An object keeps the order of its entries. A number without fraction and
// exponent that fits is an int64_t, every other one a double; doubles survive being written and read bit for bit,
// but for denormals where those are flushed.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reel {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  /// How deep arrays and objects may nest in a text that is parsed.
  static constexpr int max_depth = 64;

  /// null
  Json() = default;
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  /// The one value that `text` holds. Throws where it is not JSON, with the byte's offset.
  static Json parse(std::string_view text);

  /// Without white space. Throws at a NaN, an infinity and a string that is not UTF-8, which JSON cannot express, and
  /// at two entries of one name, which parse() refuses.
  std::string write() const;

  /// The value if it is a T (bool, std::int64_t, double, std::string, Array, Object), else null.
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }

  /// The value, which must be a T; throws otherwise, naming both kinds. For either kind of number there is number().
  template <class T>
  const T& get() const {
    if (const T* value = get_if<T>()) return *value;
    wrong_kind(Json(T{}));
  }

  /// An integer or a double; throws otherwise.
  double number() const;

  /// The object's entry `key`, or null where there is none. Throws where this is no object.
  const Json* find(std::string_view key) const;
  /// The object's entry `key`. Throws where there is none.
  const Json& at(std::string_view key) const;

  friend bool operator==(const Json&, const Json&) = default;

 private:
  [[noreturn]] void wrong_kind(const Json& wanted) const;
  const char* kind() const;
  void write(std::string& out) const;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

}  // namespace reel
