// From a pod to its answers: the sidecar that `holdfast inject` adds is started as a kubelet would
// start it, with its arguments and its variables and nothing else, and the probes that it rewrote
// are asked as a kubelet would ask them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <optional>

#include "e2e/probe_app.h"
#include "e2e/probe_apps.h"
#include "e2e/probe_process.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kPodAddress = "127.0.0.1";

// Both containers have each kind of probe; HTTP, GRPC and CLOSED are ports.
constexpr const char* kPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{
  "containers":[
    {"name":"well","image":"app:1","ports":[{"name":"http","containerPort":HTTP}],
     "startupProbe":{"tcpSocket":{"port":"http"},"timeoutSeconds":9},
     "readinessProbe":{"httpGet":{"path":"/ready?full=1&x=%2F","port":"http",
       "httpHeaders":[{"name":"X-Own","value":"$(HOME) $$"}]},"timeoutSeconds":9},
     "livenessProbe":{"grpc":{"port":GRPC,"service":"a/b"},"timeoutSeconds":9}},
    {"name":"ill","image":"app:1",
     "startupProbe":{"tcpSocket":{"port":CLOSED},"timeoutSeconds":9},
     "readinessProbe":{"httpGet":{"path":"/status/500","port":HTTP},"timeoutSeconds":9},
     "livenessProbe":{"grpc":{"port":GRPC,"service":"ill"},"timeoutSeconds":9}}]}})";

std::string text_of(const json::value& value) {
  return value.as_string().c_str();
}

class InjectedPod {
 public:
  // With the handler on this port.
  InjectedPod(std::string pod, uint16_t port) {
    const ProgramOutcome done = run_program(
        {.arguments = {built("holdfast"), "inject", "-f", "-", "--port", std::to_string(port)},
         .input = std::move(pod)});
    EXPECT_EQ(done.exit_code, 0) << done.error;
    pod_ = json::parse(done.output);
    start_sidecar();
  }

  const json::value& container(std::string_view name) const {
    for (const json::value& one : pod_.at("spec").at("containers").as_array()) {
      if (text_of(one.at("name")) == name) return one;
    }
    ADD_FAILURE() << name << " in " << json::serialize(pod_);
    static const json::value kNone;
    return kNone;
  }

  Reply ask(std::string_view name, const char* probe) const {
    const json::value& http = container(name).at(probe).at("httpGet");
    const std::string address = fmt::format("{}:{}", kPodAddress, http.at("port").as_int64());
    HttpClient client(address);
    client.send(
        fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: kube-probe/1.29\r\nAccept: */*\r\n"
                    "Connection: close\r\n\r\n",
                    text_of(http.at("path")), address));
    return client.read_reply();
  }

 private:
  // The entry point of the image is the daemon.
  void start_sidecar() {
    const json::value& sidecar = container("holdfast-sidecar");
    std::vector<std::string> arguments = {"env"};
    for (const json::value& one : sidecar.at("env").as_array()) {
      arguments.push_back(fmt::format("{}={}", text_of(one.at("name")), value_of(one)));
    }
    arguments.emplace_back(built("holdfastd"));
    for (const json::value& one : sidecar.at("args").as_array()) arguments.push_back(text_of(one));
    process_.emplace(ChildOptions{.arguments = arguments, .output_file = folder_.file("log")});
    EXPECT_TRUE(eventually([&] { return is_ready(sidecar); }, 20s));
  }

  static std::string value_of(const json::value& variable) {
    if (const json::value* value = variable.as_object().if_contains("value")) {
      const std::string text = text_of(*value);
      EXPECT_FALSE(text.contains('$')) << "Kubernetes would expand it: " << text;
      return text;
    }
    EXPECT_EQ(text_of(variable.at("valueFrom").at("fieldRef").at("fieldPath")), "status.podIP");
    return kPodAddress;
  }

  // By its own readiness probe; nobody may listen yet.
  static bool is_ready(const json::value& sidecar) {
    const json::value& http = sidecar.at("readinessProbe").at("httpGet");
    const std::string url = fmt::format("http://{}:{}{}", kPodAddress, http.at("port").as_int64(),
                                        text_of(http.at("path")));
    return run_program({"curl", "-sf", "-o", "/dev/null", url}, 5s).exit_code == 0;
  }

  json::value pod_;
  TempDir folder_;
  std::optional<ChildProcess> process_;
};

std::string filled(std::string text, const std::string& word, uint16_t port) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
    text.replace(at, word.size(), std::to_string(port));
  }
  return text;
}

TEST(ProbeInjected, TheSidecarAnswersTheProbesThatWereRewrittenForIt) {
  ProbeApp app;
  GrpcApp grpc;
  grpc.set_serving("a/b", true);
  grpc.set_serving("ill", false);
  const std::vector<uint16_t> free = free_ports(2);
  const std::string pod = filled(filled(kPod, "HTTP", app.port()), "GRPC", grpc.port());

  const InjectedPod injected(filled(pod, "CLOSED", free[0]), free[1]);

  EXPECT_EQ(injected.ask("well", "startupProbe").status, 200);
  EXPECT_EQ(app.requests(), 0u) << "a connection is all";
  EXPECT_EQ(injected.ask("well", "readinessProbe").status, 200);
  ASSERT_EQ(app.heads().size(), 1u);
  EXPECT_THAT(app.heads()[0], StartsWith("GET /ready?full=1&x=%2F HTTP/1.1\r\n"));
  EXPECT_THAT(app.heads()[0], HasSubstr("\r\nX-Own: $(HOME) $$\r\n"));
  const Reply serving = injected.ask("well", "livenessProbe");
  EXPECT_EQ(serving.status, 200) << serving.body;
  EXPECT_EQ(header(serving, "Holdfast-Probe-Status"), "SERVING");

  EXPECT_EQ(injected.ask("ill", "startupProbe").status, 503);
  const Reply wrong = injected.ask("ill", "readinessProbe");
  EXPECT_EQ(wrong.status, 503);
  EXPECT_EQ(header(wrong, "Holdfast-Probe-Status"), "500");
  const Reply ill = injected.ask("ill", "livenessProbe");
  EXPECT_EQ(ill.status, 503);
  EXPECT_EQ(header(ill, "Holdfast-Probe-Status"), "NOT_SERVING");
}

}  // namespace
}  // namespace holdfast::test
