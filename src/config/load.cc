#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/reason.h"
#include "config/addresses.h"
#include "config/problem.h"
#include "config/relations.h"
#include "resource/decode.h"
#include "resource/scalar_text.h"

namespace holdfast::config {
namespace {

using resource::ErrorCode;
using resource::Member;
using resource::Node;
using std::string_view;

constexpr int kUnknownKey = 6004;

// The names that stand directly below a section: "listen", "http" below "controller".
std::vector<string_view> names_below(string_view section) {
  std::vector<string_view> out;
  for (const Key& key : keys()) {
    string_view rest = key.path;
    if (!section.empty()) {
      if (!rest.starts_with(section) || rest.substr(section.size(), 1) != ".") continue;
      rest.remove_prefix(section.size() + 1);
    }
    const string_view name = rest.substr(0, rest.find('.'));
    if (out.empty() || out.back() != name) out.push_back(name);
  }
  return out;
}

// What an unknown key was probably meant to be.
std::string hint(string_view section, string_view name) {
  if (find_key(name) != nullptr) {
    const size_t dot = name.rfind('.');
    return fmt::format("write \"{}\" below \"{}\"", name.substr(dot + 1), name.substr(0, dot));
  }
  const std::vector<string_view> known = names_below(section);
  if (const auto near = did_you_mean(name, known)) {
    return fmt::format("did you mean \"{}\"?", *near);
  }
  for (const Key& key : keys()) {
    if (key.path.ends_with(fmt::format(".{}", name))) {
      return fmt::format("did you mean \"{}\"?", key.path);
    }
  }
  return fmt::format("there are {}", fmt::join(known, ", "));
}

class Loader {
 public:
  explicit Loader(const Sources& sources) : sources_(sources) { loaded_.role = sources.role; }

  Checked run() {
    take_defaults();
    take_file();
    take_environment();
    take_flags();
    require_values();
    for (const Setting& setting : loaded_.settings) {
      setting.key->assign(loaded_.config, setting.value);
    }
    std::ranges::move(check_relations(loaded_, bad_), std::back_inserter(problems_));
    check_pair_times();
    for (const Problem& problem : problems_) {
      if (problem.severity == Severity::Warning) loaded_.warnings.push_back(problem);
    }
    return {.loaded = std::move(loaded_), .problems = std::move(problems_)};
  }

 private:
  // Placed at the first of the pair's keys that somebody set.
  void check_pair_times() {
    const HaConfig& ha = loaded_.config.ha;
    const auto is_ours = [](string_view path) { return path.starts_with("ha."); };
    if (!sources_.pair_times || loaded_.role != Role::Controller || ha.peer.empty()) return;
    if (std::ranges::any_of(bad_, is_ours)) return;
    const Status status = sources_.pair_times(ha);
    if (status.ok()) return;
    const Reason reason = split_reason(status);
    Origin origin;
    for (const Setting& setting : loaded_.settings) {
      const bool is_time = setting.key->type == Type::Time && is_ours(setting.key->path);
      if (is_time && origin.from == From::Default) origin = setting.origin;
    }
    const auto code = resource::parse_int<uint32_t>(reason.code.substr(2));
    HF_CHECK(code.has_value(), "a reason's code is HF and a number");
    note(Severity::Error, static_cast<int>(*code), origin, std::string(reason.message));
  }

  void take_defaults() {
    for (const Key& key : keys()) {
      const auto machine = sources_.machine.find(std::string(key.path));
      const bool known = machine != sources_.machine.end() && !machine->second.empty();
      loaded_.settings.push_back({.key = &key, .value = default_value(key), .origin = {}});
      if (!known) continue;
      // A bad one matters only if nobody sets the key.
      ValueReading reading = read_value(key, machine->second);
      if (reading.ok()) loaded_.settings.back().value = std::move(reading.value);
    }
  }

  // Of keys that have one: an empty text or list where the default is none.
  static Value default_value(const Key& key) {
    if (key.fallback.empty()) {
      if (key.type == Type::Checks) return CheckConfigs{};
      return key.type == Type::List ? Value(std::vector<std::string>{}) : Value(std::string());
    }
    ValueReading reading = read_value(key, key.fallback);
    HF_CHECK(reading.problems.empty(), "defaults are good values");
    return std::move(reading.value);
  }

  void take_file() {
    const resource::ParseOptions options = {.max_input_bytes = kMaxFileBytes,
                                            .max_document_bytes = kMaxFileBytes,
                                            .max_documents = 2,
                                            .max_nodes = 10'000};
    const auto documents = resource::read_yaml(sources_.file_text, options);
    if (!documents) {
      return note(Severity::Error, static_cast<int>(documents.error().code),
                  file(documents.error().at), documents.error().message);
    }
    if (documents->empty()) return;
    take_section(documents->front(), "");
    if (documents->size() > 1) {
      note(Severity::Error, kBadValue, file((*documents)[1].at),
           "a second document; a configuration is one");
    }
  }

  void take_section(const Node& node, const std::string& section) {
    if (node.shape == Node::Shape::Null) return;
    if (node.shape != Node::Shape::Mapping) {
      return note(Severity::Error, kBadValue, file(node.at),
                  fmt::format("{} {}", section.empty() ? "a configuration" : section,
                              resource::wrong_shape("a mapping", node)));
    }
    for (const Member& member : node.members) {
      const std::string path = section.empty() ? member.key : section + "." + member.key;
      const bool is_name = !member.key.contains('.');
      if (const Key* key = is_name ? find_key(path) : nullptr) {
        if (member.value.shape == Node::Shape::Null) continue;
        take(*key, read_value(*key, member.value), file(member.key_at));
      } else if (is_name && !names_below(path).empty()) {
        take_section(member.value, path);
      } else {
        note(Severity::Error, kUnknownKey, file(member.key_at),
             fmt::format("unknown key {}{}{}; {}", in_quotes(member.key),
                         section.empty() ? "" : " in ", section, hint(section, member.key)));
      }
    }
  }

  void take_environment() {
    for (const Key& key : keys()) {
      if (key.only_in_file) continue;
      const std::string name = environment_name(key);
      const auto found = sources_.environment.find(name);
      if (found == sources_.environment.end()) continue;
      take(key, read_value(key, found->second), {From::Environment, name, {}});
    }
    for (const auto& [name, value] : sources_.environment) warn_if_misspelt(name);
  }

  // The command line has variables of its own, so only what is nearly one of ours is doubted.
  void warn_if_misspelt(string_view name) {
    constexpr string_view kPrefix = "HOLDFAST_";
    if (!name.starts_with(kPrefix)) return;
    std::vector<std::string> known;
    for (const Key& key : keys()) {
      if (!key.only_in_file) known.push_back(environment_name(key).substr(kPrefix.size()));
    }
    const string_view own = name.substr(kPrefix.size());
    if (std::ranges::find(known, own) != known.end()) return;
    const std::vector<string_view> names(known.begin(), known.end());
    const auto near = did_you_mean(own, names);
    if (!near) return;
    note(Severity::Warning, kUnknownKey, {From::Environment, std::string(name), {}},
         fmt::format("no key has this variable; did you mean {}{}?", kPrefix, *near));
  }

  void take_flags() {
    for (const auto& [path, text] : sources_.flags) {
      const Origin origin = {From::Flag, path, {}};
      const Key* key = find_key(path);
      if (key != nullptr && !key->only_in_file) {
        take(*key, read_value(*key, string_view(text)), origin);
      } else {
        const size_t dot = path.rfind('.');
        const std::string section = dot == std::string::npos ? "" : path.substr(0, dot);
        note(Severity::Error, kUnknownKey, origin,
             fmt::format("unknown key; {}", hint(section, path.substr(dot + 1))));
      }
    }
  }

  // A default may be missing on this machine.
  void require_values() {
    for (const Setting& setting : loaded_.settings) {
      const Key& key = *setting.key;
      if (!key.is_for(sources_.role)) continue;
      const std::string* text = std::get_if<std::string>(&setting.value);
      if (text == nullptr || !text->empty() || key.may_be_empty || bad_.contains(key.path))
        continue;
      note(
          Severity::Error, kBadValue, {},
          fmt::format("{} is not given and has no good default on this machine; set it", key.path));
    }
  }

  void take(const Key& key, ValueReading reading, const Origin& origin) {
    for (const ValueError& error : reading.problems) {
      Origin at = origin;
      if (origin.from == From::File) at.at = error.at;
      const bool is_json = key.type == Type::Policies || key.type == Type::Checks;
      const bool placed = origin.from != From::File && is_json;
      const std::string where =
          placed ? fmt::format("{}:{}: ", error.at.line, error.at.column) : "";
      note(error.is_warning ? Severity::Warning : Severity::Error, error.code, at,
           fmt::format("{}: {}{}", key.path, where, error.message));
    }
    // Of a tree the good parts still stand to be compared with other keys.
    if (!reading.ok() && key.type != Type::Checks) {
      bad_.insert(key.path);
      return;
    }
    Setting& setting = loaded_.settings[static_cast<size_t>(&key - keys().data())];
    setting.value = std::move(reading.value);
    setting.origin = origin;
  }

  Origin file(resource::Position at) const { return {From::File, sources_.file_path, at}; }
  void note(Severity severity, int code, Origin origin, std::string message) {
    problems_.push_back({severity, code, std::move(origin), std::move(message)});
  }

  const Sources& sources_;
  Loaded loaded_;
  std::vector<Problem> problems_;
  std::set<string_view> bad_;
};

}  // namespace

Checked check(const Sources& sources) {
  return Loader(sources).run();
}

Result<Loaded> load(const Sources& sources) {
  Checked checked = check(sources);
  if (!has_error(checked.problems)) return std::move(checked.loaded);
  return absl::InvalidArgumentError(problems_text(checked.problems, sources.file_text));
}

std::string effective_text(const Loaded& loaded, bool with_source) {
  size_t key_width = 0;
  size_t value_width = 0;
  std::vector<std::pair<const Setting*, std::string>> rows;
  constexpr size_t kWidestValue = 40;
  for (const Setting& setting : loaded.settings) {
    if (!setting.key->is_for(loaded.role)) continue;
    std::string text = value_text(*setting.key, setting.value);
    if (setting.key->is_secret && !text.empty()) text = "(set)";
    if (text.empty()) text = "\"\"";
    key_width = std::max(key_width, setting.key->path.size());
    value_width = std::max(value_width, std::min(text.size(), kWidestValue));
    rows.emplace_back(&setting, std::move(text));
  }
  std::string out;
  for (const auto& [setting, text] : rows) {
    out += with_source ? fmt::format("{:<{}}  {:<{}}  {}\n", setting->key->path, key_width, text,
                                     value_width, origin_text(setting->origin))
                       : fmt::format("{:<{}}  {}\n", setting->key->path, key_width, text);
  }
  return out;
}

Changes changes(const Loaded& running, const Loaded& next) {
  Changes out;
  for (size_t i = 0; i < std::min(running.settings.size(), next.settings.size()); ++i) {
    const Key& key = *next.settings[i].key;
    if (!key.is_for(next.role)) continue;
    if (value_text(key, running.settings[i].value) == value_text(key, next.settings[i].value)) {
      continue;
    }
    (key.needs_restart ? out.need_restart : out.live).push_back(key.path);
  }
  return out;
}

std::string advertised_address(const ControllerConfig& config, uint16_t port) {
  const ControllerSection& controller = config.controller;
  if (!controller.advertise.empty()) return controller.advertise;
  std::string host;
  if (!controller.hosts.empty()) {
    host = controller.hosts.front();
  } else if (!controller.listen.empty()) {
    host = host_of(controller.listen.front());
  }
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace holdfast::config
