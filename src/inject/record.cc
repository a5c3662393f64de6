#include "inject/record.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/reason.h"

namespace holdfast::inject {
namespace {

using std::string_view;

bool take_object(const json::object& fields, string_view name, json::object& into) {
  const json::value* value = find(fields, name);
  if (value == nullptr) return true;
  if (!value->is_object()) return false;
  into = value->get_object();
  return true;
}

bool take_ports(const json::object& fields, Record& into) {
  if (const json::value* port = find(fields, "port")) {
    const std::optional<uint16_t> number = port_number(*port);
    if (!number) return false;
    into.port = *number;
  }
  const json::array* excluded = find_array(fields, "excluded");
  if (excluded == nullptr) return true;
  for (const json::value& item : *excluded) {
    const std::optional<uint16_t> number = port_number(item);
    if (!number) return false;
    into.excluded.push_back(*number);
  }
  return true;
}

// Every original is an object with exactly one member.
bool are_originals(const json::object& probes) {
  for (const auto& container : probes) {
    if (!container.value().is_object()) return false;
    for (const auto& slot : container.value().get_object()) {
      const json::object* original = slot.value().if_object();
      if (original == nullptr || original->size() != 1) return false;
    }
  }
  return true;
}

void put_unless_empty(json::object& into, string_view name, const json::object& value) {
  if (!value.empty()) into[key(name)] = value;
}

}  // namespace

Status wrong_record() {
  return coded(absl::StatusCode::kInvalidArgument, "HF7105",
               fmt::format("the annotation {} is not what the injector writes", kRecordAnnotation));
}

Result<Record> read_record(const json::object& pod) {
  Record record;
  const json::object* metadata = find_object(pod, "metadata");
  const json::object* all = metadata == nullptr ? nullptr : find_object(*metadata, "annotations");
  const json::value* text = all == nullptr ? nullptr : find(*all, kRecordAnnotation);
  if (text == nullptr) return record;
  if (!text->is_string()) return wrong_record();
  json::error_code error;
  const json::value parsed = json::parse(text->get_string(), error);
  const json::object* fields = error ? nullptr : parsed.if_object();
  if (fields == nullptr) return wrong_record();
  record.present = true;
  record.sidecar = find_text(*fields, "sidecar");
  record.name = find_text(*fields, "name");
  const bool fits = take_ports(*fields, record) && take_object(*fields, "probes", record.probes) &&
                    take_object(*fields, "annotations", record.annotations) &&
                    take_object(*fields, "made", record.made) &&
                    take_object(*fields, "env", record.env) && are_originals(record.probes);
  if (!fits) return wrong_record();
  return record;
}

std::string to_text(const Record& record) {
  json::object out;
  if (record.port != 0) out["port"] = record.port;
  if (!record.excluded.empty()) {
    out["excluded"] = json::array(record.excluded.begin(), record.excluded.end());
  }
  put_unless_empty(out, "probes", record.probes);
  put_unless_empty(out, "annotations", record.annotations);
  put_unless_empty(out, "made", record.made);
  put_unless_empty(out, "env", record.env);
  if (!record.name.empty()) out["name"] = record.name;
  if (!record.sidecar.empty()) out["sidecar"] = record.sidecar;
  return json::serialize(out);
}

const json::object* original_of(const Record& record, string_view container, string_view slot) {
  const json::object* slots = find_object(record.probes, container);
  return slots == nullptr ? nullptr : find_object(*slots, slot);
}

}  // namespace holdfast::inject
