#include "e2e/injector_process.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <signal.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

constexpr std::chrono::seconds kInjectorProcessPatience(60);

std::string value_of(const std::string& yaml, const std::string& key) {
  std::smatch found;
  HF_CHECK(std::regex_search(yaml, found, std::regex(key + ": ([A-Za-z0-9+/=]+)\n")), key);
  std::string bytes;
  HF_CHECK(absl::Base64Unescape(found[1].str(), &bytes), key);
  return bytes;
}

}  // namespace

ProgramOutcome print_manifests(std::vector<std::string> more) {
  std::vector<std::string> arguments = {built("holdfast"), "install", "k8s", "--print"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(
      ProgramRun{.arguments = std::move(arguments), .patience = kInjectorProcessPatience});
}

PrintedPair printed_pair() {
  const ProgramOutcome printed = print_manifests();
  HF_CHECK(printed.exit_code == 0, printed.error);
  return {.ca = value_of(printed.output, "caBundle"),
          .certificate = value_of(printed.output, "tls.crt"),
          .key = value_of(printed.output, "tls.key")};
}

InjectorProcess::InjectorProcess(const PrintedPair& pair, std::vector<std::string> more) {
  const std::vector<uint16_t> ports = free_ports(2);
  port_ = ports[0];
  health_port_ = ports[1];
  write(pair.certificate, pair.key);
  std::ofstream(file("ca.pem")) << pair.ca;
  std::vector<std::string> arguments = {
      built("holdfastd"), "injector",     "--listen",           https(),
      "--health-listen",  http(),         "--certificate-file", file("tls.crt"),
      "--key-file",       file("tls.key")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  process_ = std::make_unique<ChildProcess>(
      ChildOptions{.arguments = std::move(arguments), .output_file = file("log")});
  // Its ports take connections from then on.
  const bool ready = eventually([&] { return !running() || log().contains("injector serves"); },
                                kInjectorProcessPatience);
  HF_CHECK(ready, log());
}

void InjectorProcess::write(const std::string& certificate, const std::string& key) const {
  std::ofstream(file("tls.crt")) << certificate;
  std::ofstream(file("tls.key")) << key;
}

void InjectorProcess::signal(int number) const {
  ::kill(process_->pid(), number);
}

std::string InjectorProcess::https() const {
  return fmt::format("127.0.0.1:{}", port_);
}

std::string InjectorProcess::http() const {
  return fmt::format("127.0.0.1:{}", health_port_);
}

std::string InjectorProcess::url(const std::string& path) const {
  return fmt::format("https://{}:{}{}", kInjectorName, port_, path);
}

WebhookClientConfig InjectorProcess::client_config(const std::string& ca) const {
  return {.address = https(), .server_name = kInjectorName, .ca_pem = ca};
}

std::string InjectorProcess::metrics() const {
  return HttpClient(http()).ask("GET /metrics").body;
}

std::string InjectorProcess::log() const {
  std::ifstream stream(file("log"));
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace holdfast::test
