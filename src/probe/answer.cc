#include "probe/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/grpc_check.h"

namespace holdfast::probe {
namespace {

constexpr size_t kMaxReasonBytes = 512;

net::HttpResponse text(int status, std::string_view line) {
  net::HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body.append(line).append("\n");
  return response;
}

// A reason may quote what an application or a resolver said.
std::string one_line(std::string_view reason) {
  std::string line(reason.substr(0, kMaxReasonBytes));
  std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

std::string status_text(const Outcome& outcome) {
  switch (outcome.code_of) {
    case CodeOf::GrpcHealth: {
      const std::string_view name = health_name(outcome.code);
      return name.empty() ? fmt::format("health-status {}", outcome.code) : std::string(name);
    }
    case CodeOf::GrpcCall:
      return fmt::format("grpc-status {}", outcome.code);
    case CodeOf::Http:
      break;
  }
  return std::to_string(outcome.code);
}

}  // namespace

std::expected<const Probe*, net::HttpResponse> look_up(const Registry& registry,
                                                       const net::HttpRequest& request) {
  const bool is_own = request.raw_target == kOwnHealthPath;
  const Probe* probe = registry.find(request.raw_target);
  if (!is_own && probe == nullptr) {
    return std::unexpected(text(404, "HF7050: no probe is registered at this path"));
  }
  if (request.method != "GET") {
    net::HttpResponse refusal = text(405, "HF7051: probes are asked for with GET");
    refusal.headers.emplace_back("Allow", "GET");
    return std::unexpected(std::move(refusal));
  }
  if (is_own) return std::unexpected(text(200, "ok"));
  return probe;
}

net::HttpResponse to_response(const Probe& probe, const Outcome& outcome) {
  if (probe.hook && !outcome.healthy) return {.reset = true};
  const std::string_view otherwise = outcome.healthy ? "healthy" : "not healthy";
  const std::string reason = one_line(outcome.reason);
  net::HttpResponse response =
      text(outcome.healthy ? 200 : 503, reason.empty() ? otherwise : std::string_view(reason));
  response.headers.emplace_back(kStatusHeader, status_text(outcome));
  return response;
}

std::string_view kind_text(const Probe& probe) {
  if (probe.hook) return "hook";
  if (std::holds_alternative<TcpSocket>(probe.action)) return "tcp";
  return std::holds_alternative<Grpc>(probe.action) ? "grpc" : "http";
}

}  // namespace holdfast::probe
