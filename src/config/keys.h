// The one table of configuration keys. The reader, the environment, the flags, the listing of what
// is in effect, the JSON Schema, docs/configuration.md and the manual page all come from it, so a
// key is added by adding its row (keys.cc, *_keys.h) and its member (config.h).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/value.h"

namespace holdfast::config {

// Inclusive; durations in nanoseconds.
struct Range {
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<int64_t>::max();
};

// The roles that look at a key, as bits.
inline constexpr uint8_t kForController = 1 << static_cast<uint8_t>(Role::Controller);
inline constexpr uint8_t kForProxy = 1 << static_cast<uint8_t>(Role::Proxy);
inline constexpr uint8_t kForAgent = 1 << static_cast<uint8_t>(Role::Agent);
inline constexpr uint8_t kForWitness = 1 << static_cast<uint8_t>(Role::Witness);
inline constexpr uint8_t kForProbe = 1 << static_cast<uint8_t>(Role::Probe);
inline constexpr uint8_t kForNodes = kForProxy | kForAgent | kForWitness;
inline constexpr uint8_t kForAll = kForController | kForNodes | kForProbe;

struct Key {
  // What is wrong with a text, or with each of a list.
  using Rule = std::optional<std::string> (*)(std::string_view text);
  using Assign = void (*)(Config& config, const Value& value);

  std::string_view path;  // "controller.http.listen"
  Type type = Type::Text;
  std::string_view fallback;  // the default, as in the environment
  std::string_view doc;       // one sentence or two
  Assign assign = nullptr;
  Rule rule = nullptr;  // null: any text
  Range range{};
  std::span<const std::string_view> words{};  // of a Choice, in the order of its enum
  // Why the default is what it is where that depends on the machine: shown instead of it.
  std::string_view machine_default{};
  bool needs_restart = true;
  bool only_in_file = false;  // no variable and no flag sets it
  bool is_secret = false;     // listings show that it is set, not what it is
  bool may_be_empty = false;  // of a Text or List
  uint8_t roles = kForController;

  constexpr bool is_for(Role role) const { return (roles >> static_cast<uint8_t>(role) & 1) != 0; }
};

std::span<const Key> keys();
// Null if there is none of that path.
const Key* find_key(std::string_view path);

// "HOLDFAST_CONTROLLER_HTTP_LISTEN"; empty for a key that is only in the file.
std::string environment_name(const Key& key);
// The default as people read it: the value, what it depends on, or "none".
std::string default_text(const Key& key);
// What may be given: "1s to 1h", "sqlite, etcd or memory"; empty if anything of the type.
std::string range_text(const Key& key);
// "duration", "list of texts": the type as people call it.
std::string_view type_text(Type type);

}  // namespace holdfast::config
