#include "cli/describe.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/carried.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/output.h"
#include "cli/presence.h"
#include "cli/table.h"
#include "cli/target.h"
#include "cli/times.h"
#include "resource/encode.h"
#include "resource/field_path.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kLongestLine = 1024;

std::string line(std::string_view name, const std::string& value) {
  if (value.empty()) return "";
  const std::string safe = in_quotes(value, kLongestLine);
  return fmt::format("{:<13}{}\n", fmt::format("{}:", name), safe.substr(1, safe.size() - 2));
}

std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out += std::string(kIndent, ' ') + text.substr(at, end - at);
    at = end;
  }
  return out;
}

std::string spec_text(const v1::Resource& resource) {
  const google::protobuf::Message* body = resource::body_of(resource);
  if (body == nullptr) return line("Spec", "of a kind this command does not know");
  const resource::Node node = resource::encode_message(*body);
  if (node.members.empty()) return line("Spec", "empty");
  return "Spec:\n" + indented(resource::write_yaml(node));
}

std::string agents_text(const v1::Resource& service, const std::vector<v1::Resource>& agents,
                        WallTime now) {
  const std::string why_not = why_not_carried(service, agents);
  std::vector<Row> rows;
  for (const v1::Resource& agent : carriers_of(service, agents)) {
    const std::string tunnels = std::to_string(agent.agent().tunnels_size());
    rows.push_back({agent.metadata().name(), agent.agent().zone(), tunnels,
                    presence_text(agent, now), health_text(agent, service.metadata().name())});
  }
  const std::string count = rows.empty() ? "none carries it" : std::to_string(rows.size());
  std::string out = line("Agents", why_not.empty() ? count : count + ": " + why_not);
  if (rows.empty()) return out;
  return out + indented(render_table({"NAME", "ZONE", "TUNNELS", "STATE", "HEALTH"}, rows));
}

std::string services_text(const v1::Agent& agent) {
  std::vector<Row> rows;
  size_t healthy = 0;
  for (const v1::ExposedService& service : agent.services()) {
    rows.push_back({service.service(), health_text(service)});
    healthy += service.healthy() ? 1 : 0;
  }
  if (rows.empty()) return "";
  return line("Services", fmt::format("{} of {} healthy", healthy, rows.size())) +
         indented(render_table({"NAME", "HEALTH"}, rows));
}

}  // namespace

std::string render_description(const v1::Resource& resource,
                               const std::vector<v1::Resource>& agents, WallTime now) {
  const v1::Metadata& metadata = resource.metadata();
  std::string out = line("Kind", resource.kind()) + line("Name", metadata.name()) +
                    line("Description", metadata.description()) +
                    line("Labels", resource::cell_text(resource, "metadata.labels")) +
                    line("Revision", std::to_string(metadata.revision()));
  if (metadata.has_expires()) {
    const WallTime expires = to_wall(metadata.expires());
    out += line("Expires", fmt::format("{} ({})", to_rfc3339(expires), relative(expires, now)));
  }
  out += line("State", presence_text(resource, now));
  if (resource.has_agent()) out += services_text(resource.agent());
  out += spec_text(resource);
  if (resource.has_service()) out += agents_text(resource, agents, now);
  return out;
}

Exit describe(const Session& session, const DescribeOptions& options) {
  const auto target = parse_target(options.kind, options.names);
  if (!target) return session.console.report(target.error());
  const Result<std::vector<v1::Resource>> resources =
      target->names.empty() ? fetch_all(session.client, target->kind, {})
                            : fetch_named(session.client, target->kind, target->names);
  if (!resources.ok()) return session.failed(resources.status());
  if (resources->empty()) {
    print_err(fmt::format("No {} found.\n", resource::info(target->kind).plural));
  }
  for (const v1::Resource& one : *resources) {
    const Result<std::vector<v1::Resource>> agents =
        one.has_service() ? fetch_all(session.client, resource::Kind::Agent, {})
                          : std::vector<v1::Resource>();
    if (!agents.ok()) return session.failed(agents.status());
    if (&one != &resources->front()) print_out("\n");
    print_out(render_description(one, *agents, SystemClock().wall_now()));
  }
  return Exit::Ok;
}

}  // namespace holdfast::cli
