// The closed set of probes a handler carries out, and the path each has on the handler's port:
// /PORT/path, /tcp/PORT, /grpc/PORT/SERVICE (the service percent-encoded, nothing if it is empty),
// /hook/PORT/path. Probes that share this path but differ (headers, scheme, host, timeout) are told
// apart by a number behind the port, in the order of the list: /8080~2/healthz.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "probe/probe.h"

namespace holdfast::probe {

constexpr size_t kMaxProbes = 1024;
constexpr size_t kMaxRegistryBytes = 256 * 1024;

class Registry {
 public:
  // The seed's JSON list: [{"httpGet":{"path","port","scheme","httpHeaders","host","protocol"}},
  // {"tcpSocket":{"port","host"}}, {"grpc":{"port","service","mode","host"}}], each with an
  // optional "timeoutSeconds" and, for hooks, "hook":true. Unknown keys and keys given twice, ports
  // that are not numbers in 1..65535, bytes that do not belong in a request: kInvalidArgument with
  // the place
  // ("probes[2].httpGet.port: ...", "line 3, column 7: ... at ...").
  static Result<Registry> parse(std::string_view json);

  // The probe's path; the one it has, if an equal one is there. kResourceExhausted beyond
  // kMaxProbes.
  Result<std::string> add(const Probe& probe);
  // By the request target, byte for byte with its query; null if nobody registered it.
  const Probe* find(std::string_view target) const;

  const std::vector<Probe>& probes() const { return probes_; }
  // Of probes()[index].
  const std::string& path(size_t index) const { return paths_[index]; }
  // What parse() takes, without whitespace and without what is default.
  std::string to_json() const;

 private:
  std::vector<Probe> probes_;
  std::vector<std::string> paths_;
  std::map<std::string, size_t, std::less<>> by_path_;
};

}  // namespace holdfast::probe
