#include "json_patch.h"

#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

namespace json = boost::json;

Result<std::vector<std::string>> steps_of(const json::value& pointer) {
  if (!pointer.is_string()) return absl::InvalidArgumentError("a path is a text");
  const json::string& text = pointer.get_string();
  std::vector<std::string> steps = absl::StrSplit(absl::string_view(text.data(), text.size()), '/');
  if (!steps.front().empty()) return absl::InvalidArgumentError("a path begins with a slash");
  steps.erase(steps.begin());
  for (std::string& step : steps) {
    step = absl::StrReplaceAll(absl::StrReplaceAll(step, {{"~1", "/"}}), {{"~0", "~"}});
  }
  return steps;
}

std::optional<size_t> index_of(const std::string& step, size_t below) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  const bool number = error == std::errc() && end == step.data() + step.size() &&
                      (step.size() == 1 || step[0] != '0');
  if (!number || index >= below) return std::nullopt;
  return index;
}

json::value* child_of(json::value& parent, const std::string& step) {
  if (json::object* object = parent.if_object()) return object->if_contains(step);
  json::array* array = parent.if_array();
  if (array == nullptr) return nullptr;
  const std::optional<size_t> index = index_of(step, array->size());
  return index ? &(*array)[*index] : nullptr;
}

json::value* at(json::value& document, const std::vector<std::string>& steps, size_t count) {
  json::value* found = &document;
  for (size_t i = 0; i < count && found != nullptr; ++i) found = child_of(*found, steps[i]);
  return found;
}

bool add(json::value& parent, const std::string& step, const json::value& value) {
  if (json::object* object = parent.if_object()) {
    (*object)[step] = value;
    return true;
  }
  json::array* array = parent.if_array();
  if (array == nullptr) return false;
  const std::optional<size_t> index =
      step == "-" ? array->size() : index_of(step, array->size() + 1);
  if (!index) return false;
  array->insert(array->begin() + static_cast<std::ptrdiff_t>(*index), value);
  return true;
}

bool remove(json::value& parent, const std::string& step) {
  if (json::object* object = parent.if_object()) return object->erase(step) == 1;
  json::array* array = parent.if_array();
  const std::optional<size_t> index =
      array != nullptr ? index_of(step, array->size()) : std::nullopt;
  if (!index) return false;
  array->erase(array->begin() + static_cast<std::ptrdiff_t>(*index));
  return true;
}

Status apply_one(json::value& document, const json::object& operation) {
  const json::value* op = operation.if_contains("op");
  const json::value* path = operation.if_contains("path");
  if (op == nullptr || !op->is_string() || path == nullptr) {
    return absl::InvalidArgumentError("an operation has op and path");
  }
  TRY(const std::vector<std::string> steps, steps_of(*path));
  const json::value* value = operation.if_contains("value");
  const bool removes = op->get_string() == "remove";
  if (!removes && value == nullptr) return absl::InvalidArgumentError("an operation has a value");
  if (steps.empty()) return absl::InvalidArgumentError("the whole document is not for patches");
  json::value* parent = at(document, steps, steps.size() - 1);
  json::value* target = at(document, steps, steps.size());
  if (parent == nullptr) return absl::InvalidArgumentError("there is no such parent");
  bool done = false;
  if (op->get_string() == "add") {
    done = add(*parent, steps.back(), *value);
  } else if (removes) {
    done = remove(*parent, steps.back());
  } else if (op->get_string() == "replace" && target != nullptr) {
    *target = *value;
    done = true;
  } else if (op->get_string() == "test" && target != nullptr) {
    done = *target == *value;
  }
  return done ? absl::OkStatus() : absl::InvalidArgumentError("it does not apply");
}

}  // namespace

Result<json::value> apply_patch(json::value document, const json::value& patch) {
  const json::array* operations = patch.if_array();
  if (operations == nullptr) return absl::InvalidArgumentError("a patch is a list");
  for (size_t i = 0; i < operations->size(); ++i) {
    const json::object* operation = (*operations)[i].if_object();
    if (operation == nullptr) return absl::InvalidArgumentError("an operation is an object");
    const Status applied = apply_one(document, *operation);
    if (!applied.ok()) return annotate(applied, fmt::format("operation {}", i));
  }
  return document;
}

}  // namespace holdfast::test
