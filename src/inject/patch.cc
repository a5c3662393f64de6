#include "inject/patch.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "inject/json_edit.h"
#include "inject/json_pointer.h"

namespace holdfast::inject {
namespace {

using std::string_view;

class Difference {
 public:
  void values(const std::string& at, const json::value& before, const json::value& after) {
    if (before == after) return;
    if (before.is_object() && after.is_object()) {
      objects(at, before.get_object(), after.get_object());
    } else if (before.is_array() && after.is_array()) {
      arrays(at, before.get_array(), after.get_array());
    } else {
      add("replace", at, &after);
    }
  }

  json::array take() { return std::move(patch_); }

 private:
  void objects(const std::string& at, const json::object& before, const json::object& after) {
    for (const auto& [name, value] : before) {
      const json::value* now = after.if_contains(name);
      const std::string place = child(at, view(name));
      if (now == nullptr) {
        add("remove", place, nullptr);
      } else {
        values(place, value, *now);
      }
    }
    for (const auto& [name, value] : after) {
      if (!before.contains(name)) add("add", child(at, view(name)), &value);
    }
  }

  static std::string name_of(const json::value& value) {
    return value.is_object() ? find_text(value.get_object(), "name") : "";
  }

  static bool has_name(const json::array& list, const std::string& name) {
    return std::ranges::any_of(list,
                               [&](const json::value& item) { return name_of(item) == name; });
  }

  // Whether both name their elements, so that these can be told apart.
  static bool named(const json::array& before, const json::array& after) {
    const auto has = [](const json::value& item) { return !name_of(item).empty(); };
    return std::ranges::all_of(before, has) && std::ranges::all_of(after, has);
  }

  void arrays(const std::string& at, const json::array& before, const json::array& after) {
    const bool by_name = before.size() != after.size() && named(before, after);
    std::vector<size_t> gone;
    std::vector<size_t> come;
    size_t i = 0;
    size_t j = 0;
    while (i < before.size() && j < after.size()) {
      const bool same = !by_name || name_of(before[i]) == name_of(after[j]);
      if (same) {
        values(child(at, i), before[i], after[j]);
        ++i, ++j;
      } else if (!has_name(after, name_of(before[i]))) {
        gone.push_back(i++);
      } else {
        come.push_back(j++);
      }
    }
    while (i < before.size()) gone.push_back(i++);
    while (j < after.size()) come.push_back(j++);
    for (const size_t index : std::views::reverse(gone)) add("remove", child(at, index), nullptr);
    for (const size_t index : come) add("add", child(at, index), &after[index]);
  }

  void add(string_view operation, const std::string& at, const json::value* value) {
    json::object step;
    step["op"] = key(operation);
    step["path"] = at;
    if (value != nullptr) step["value"] = *value;
    patch_.push_back(std::move(step));
  }

  json::array patch_;
};

}  // namespace

json::array difference(const json::value& before, const json::value& after) {
  Difference difference;
  difference.values("", before, after);
  return difference.take();
}

}  // namespace holdfast::inject
