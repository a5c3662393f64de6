#include "inject/random_pods.h"

#include <fmt/format.h>

#include <random>
#include <string>
#include <utility>

namespace holdfast::inject {
namespace {

namespace json = boost::json;

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  json::value document() {
    json::object pod;
    if (chance(90)) pod["metadata"] = metadata();
    if (!pod.contains("metadata") && chance(30)) pod["metadata"] = nullptr;
    pod["spec"] = spec();
    pod["x~y/z"] = json::array{1, "two", nullptr};
    switch (below(4)) {
      case 0:
        return workload("apps/v1", "Deployment", std::move(pod));
      case 1:
        return cron_job(std::move(pod));
      case 2: {
        json::value one = workload("apps/v1", "StatefulSet", std::move(pod));
        json::object service{{"apiVersion", "v1"}, {"kind", "Service"}};
        return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array{service, one}}};
      }
      default:
        pod["apiVersion"] = "v1";
        pod["kind"] = "Pod";
        return pod;
    }
  }

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  bool chance(uint32_t percent) { return below(100) < percent; }

  template <typename... Text>
  std::string one_of(Text... texts) {
    const std::string all[] = {texts...};
    return all[below(sizeof...(Text))];
  }

  static json::value workload(const char* version, const char* kind, json::object pod) {
    return {{"apiVersion", version},
            {"kind", kind},
            {"metadata", {{"name", "some"}}},
            {"spec", {{"replicas", 2}, {"template", std::move(pod)}}}};
  }

  static json::value cron_job(json::object pod) {
    return {{"apiVersion", "batch/v1"},
            {"kind", "CronJob"},
            {"spec", {{"jobTemplate", {{"spec", {{"template", std::move(pod)}}}}}}}};
  }

  json::value metadata() {
    json::object out{{"name", "pod"}};
    if (chance(50)) out["labels"] = json::object{{"on", "yes"}, {"version", "1.10"}};
    if (chance(20)) out["annotations"] = nullptr;
    if (chance(60)) out["annotations"] = annotations();
    return out;
  }

  json::value annotations() {
    json::object out;
    if (chance(30)) out["note"] = "kept: \"as\" it\nis";
    if (chance(25)) out["kuma.io/virtual-probes"] = one_of("enabled", "disabled", "true");
    if (chance(15)) out["holdfast.dev/virtual-probes"] = one_of("enabled", "disabled");
    if (chance(25)) out["kuma.io/virtual-probes-port"] = one_of("0", "9000", "9100");
    if (chance(15)) out["holdfast.dev/virtual-probes-port"] = one_of("0", "9100");
    const char* lists[] = {"traffic.kuma.io/exclude-inbound-ports",
                           "holdfast.dev/exclude-inbound-ports"};
    for (const char* list : lists) {
      if (chance(30)) out[list] = one_of("9800", "9000", "9800, 9000", "1-65535", "", "80,443");
    }
    if (chance(3)) {
      out["kuma.io/gateway"] = "enabled";
      for (const char* port : {"kuma.io/virtual-probes-port", "holdfast.dev/virtual-probes-port"}) {
        if (out.contains(port)) out[port] = "0";
      }
    }
    return out;
  }

  json::value spec() {
    json::object out;
    if (chance(30)) out["restartPolicy"] = one_of("Always", "Never", "OnFailure");
    if (chance(5)) out["hostNetwork"] = true;
    if (chance(10)) out["initContainers"] = nullptr;
    if (chance(30)) {
      json::array list;
      const uint32_t count = below(3);
      for (uint32_t i = 0; i < count; ++i)
        list.push_back(container(fmt::format("init{}", i), true));
      out["initContainers"] = std::move(list);
    }
    json::array containers;
    const uint32_t count = 1 + below(4);
    for (uint32_t i = 0; i < count; ++i)
      containers.push_back(container(fmt::format("c{}", i), false));
    if (chance(10)) containers.insert(containers.begin(), own_sidecar());
    out["containers"] = std::move(containers);
    out["tolerations"] = json::array{json::object{{"key", "a"}}};
    return out;
  }

  json::value own_sidecar() {
    json::object out{{"name", "holdfast-sidecar"}, {"image", "registry.example/holdfastd:1.2"}};
    if (chance(30)) out["env"] = nullptr;
    if (chance(50)) {
      json::object old{{"name", "HOLDFAST_DATAPLANE_PROBES"}, {"value", "[]"}};
      out["env"] = json::array{json::object{{"name", "A"}, {"value", "1"}}, old};
    }
    return out;
  }

  json::value container(const std::string& name, bool init) {
    json::object out;
    if (chance(50)) out["image"] = "image:1.10";
    out["name"] = name;
    if (init && chance(60)) out["restartPolicy"] = "Always";
    if (chance(60)) {
      json::object first{{"name", "http"}, {"containerPort", chance(2) ? 9000 : 8080}};
      out["ports"] = json::array{first, json::object{{"containerPort", 9000}, {"protocol", "UDP"}}};
    }
    for (const char* kind : {"readinessProbe", "livenessProbe", "startupProbe"}) {
      if (chance(45)) out[kind] = probe();
    }
    if (chance(30)) out["lifecycle"] = lifecycle();
    out["future"] = json::object{{"a/b", 1.5}, {"c~d", -7}};
    return out;
  }

  json::value lifecycle() {
    json::object out;
    if (chance(50)) out["preStop"] = json::object{{"httpGet", http()}};
    if (chance(30)) out["postStart"] = json::object{{"httpGet", http()}};
    if (out.empty()) out["preStop"] = json::object{{"sleep", json::object{{"seconds", 3}}}};
    return out;
  }

  json::value port() {
    if (chance(15)) return "http";
    if (chance(5)) return "nobody";
    if (chance(2)) return "8081";
    if (chance(1)) return 9000;
    return 8080 + below(4);
  }

  json::object http() {
    json::object out;
    if (chance(20)) out["scheme"] = one_of("HTTP", "HTTPS");
    if (chance(80)) out["path"] = one_of("/", "/live", "/a//b%2Fc?x=~1", "plain", "/é\"'");
    out["port"] = port();
    if (chance(15)) out["host"] = one_of("10.0.0.1", "::1", "db.example.org", "");
    if (chance(25)) {
      json::object one{{"name", one_of("Host", "host", "X-A")}, {"value", one_of("a", "", "on")}};
      out["httpHeaders"] = json::array{one, one};
    }
    if (chance(5)) out["protocol"] = "HTTP2";
    if (chance(5)) out["someday"] = json::object{{"x", nullptr}};
    return out;
  }

  json::value probe() {
    json::object out;
    if (chance(30)) out["periodSeconds"] = 3;
    const uint32_t kind = below(100);
    if (kind < 10) {
      out["exec"] = json::object{{"command", json::array{"true"}}};
    } else if (kind < 60) {
      out["httpGet"] = http();
    } else if (kind < 80) {
      out["tcpSocket"] = json::object{{"port", port()}};
    } else {
      json::object grpc{{"port", 6000 + below(3)}};
      if (chance(60)) grpc["service"] = one_of("", "live", "/start up/é", "~");
      if (chance(20)) grpc["mode"] = "TLS";
      out["grpc"] = std::move(grpc);
    }
    if (chance(40)) out["timeoutSeconds"] = below(4);
    if (chance(20)) out["someday"] = "tomorrow";
    return out;
  }

  std::mt19937 random_;
};

}  // namespace

json::value random_document(uint32_t seed) {
  return Maker(seed).document();
}

}  // namespace holdfast::inject
