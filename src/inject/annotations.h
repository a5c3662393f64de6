// The annotations of a pod that steer the translation, and those that it writes. The seed's names
// and their twins of ours: where both are there, ours is the one that is read.
#pragma once

#include <span>
#include <string_view>

#include "inject/record.h"
#include "inject/translate.h"

namespace holdfast::inject {

constexpr std::string_view kVirtualProbes = "kuma.io/virtual-probes";
constexpr std::string_view kVirtualProbesPort = "kuma.io/virtual-probes-port";
constexpr std::string_view kExcludeInbound = "traffic.kuma.io/exclude-inbound-ports";
constexpr std::string_view kGateway = "kuma.io/gateway";
constexpr std::string_view kOwnVirtualProbes = "holdfast.dev/virtual-probes";
constexpr std::string_view kOwnVirtualProbesPort = "holdfast.dev/virtual-probes-port";
constexpr std::string_view kOwnExcludeInbound = "holdfast.dev/exclude-inbound-ports";

struct Settings {
  bool enabled = true;
  uint16_t port = 9000;
  bool gateway = false;  // has no redirection, so its probes arrive as they are
};

// What the user wants: values that the old record says we wrote count as what they were before.
// HF7103: a value that cannot be read.
Result<Settings> read_settings(const json::object& pod, const Record& old,
                               const InjectOptions& options);

// Writes into the pod and notes in `record` what was there for the user.
class AnnotationWriter {
 public:
  AnnotationWriter(json::object& pod, const Record& old, Record& record)
      : pod_(pod), old_(old), record_(record) {}

  void enabled(uint16_t port);
  // In every list that is there, and in the seed's; notes the ports as excluded.
  void exclude(std::span<const uint16_t> ports);
  // The record itself, last. kResourceExhausted with HF7106: it would be too long.
  Status finish();

 private:
  void write(std::string_view name, std::string_view value);
  json::object& all();

  json::object& pod_;
  const Record& old_;
  Record& record_;
};

// Takes all away that the record tells of, and the record.
void restore_annotations(json::object& pod, const Record& record);

}  // namespace holdfast::inject
