#include "e2e/probe_process.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

bool answers(uint16_t port) {
  const ProgramResult asked = run_program(
      {"curl", "-sf", "-o", "/dev/null", fmt::format("http://127.0.0.1:{}/healthz", port)}, 5s);
  return asked.exit_code == 0;
}

}  // namespace

ProbeHandler::ProbeHandler(ProbeHandlerOptions options) : options_(std::move(options)) {
  const std::vector<uint16_t> ports = free_ports(2);
  port_ = ports[0];
  health_port_ = ports[1];
  start();
}

void ProbeHandler::start() {
  std::vector<std::string> arguments;
  if (options_.max_descriptors > 0) {
    arguments = {"prlimit", fmt::format("--nofile={}", options_.max_descriptors)};
  }
  arguments.emplace_back("env");
  for (const std::string& one : options_.environment) arguments.push_back(one);
  const std::vector<std::string> own = {
      built("holdfastd"), "probe",
      "--listen",         fmt::format("{}:{}", options_.host, port_),
      "--health-listen",  fmt::format("127.0.0.1:{}", health_port_)};
  arguments.insert(arguments.end(), own.begin(), own.end());
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  process_.emplace(ChildOptions{.arguments = arguments, .output_file = folder_.file("log")});
  const bool up = eventually([&] { return answers(health_port_) || !process_->running(); }, 20s);
  HF_CHECK(up && process_->running(), "the handler starts: " + log());
}

std::string ProbeHandler::address() const {
  return fmt::format("127.0.0.1:{}", port_);
}

Reply ProbeHandler::get(const std::string& target) const {
  HttpClient client(address());
  client.send(
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: kube-probe/1.29\r\n"
                  "Accept: */*\r\nConnection: close\r\n\r\n",
                  target, address()));
  return client.read_reply();
}

std::string ProbeHandler::metrics() const {
  HttpClient client(fmt::format("127.0.0.1:{}", health_port_));
  return client.ask("GET /metrics").body;
}

double ProbeHandler::metric(const std::string& series) const {
  const std::string page = "\n" + metrics();
  const size_t at = page.find("\n" + series + " ");
  return at == std::string::npos ? 0 : std::atof(page.c_str() + at + series.size() + 2);
}

size_t ProbeHandler::descriptor_count() const {
  const std::filesystem::directory_iterator all(fmt::format("/proc/{}/fd", process_->pid()));
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

std::string ProbeHandler::log() const {
  std::ifstream file(folder_.file("log"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string header(const Reply& reply, const std::string& name) {
  const size_t at = reply.head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 4;
  return reply.head.substr(begin, reply.head.find("\r\n", begin) - begin);
}

size_t time_waits_of(uint16_t port) {
  const std::string wanted = fmt::format(":{:04X}", port);
  size_t count = 0;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    std::string number;
    std::string own;
    std::string other;
    std::string state;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream(line) >> number >> own >> other >> state;
      count += state == "06" && own.ends_with(wanted) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace holdfast::test
