// holdfast get, holdfast delete: resources by kind and name.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/target.h"
#include "resource/codec.h"
#include "resource/field_path.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

Result<std::vector<v1::Resource>> fetch_named(Client& client, resource::Kind kind,
                                              const std::vector<std::string>& names) {
  std::vector<v1::Resource> resources;
  for (const std::string& name : names) {
    v1::GetRequest request;
    request.set_kind(std::string(resource::info(kind).name));
    request.set_name(name);
    TRY(v1::Resource found, client.get(request));
    resources.push_back(std::move(found));
  }
  return resources;
}

Result<std::vector<v1::Resource>> fetch_all(Client& client, resource::Kind kind,
                                            const std::map<std::string, std::string>& labels) {
  v1::ListRequest request;
  request.set_kind(std::string(resource::info(kind).name));
  request.mutable_labels()->insert(labels.begin(), labels.end());
  std::vector<v1::Resource> resources;
  do {
    TRY(v1::ListResponse page, client.list(request));
    for (v1::Resource& found : *page.mutable_resources()) resources.push_back(std::move(found));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return resources;
}

void print_table(resource::Kind kind, const std::vector<v1::Resource>& resources, bool wide) {
  Row headers = {"NAME"};
  std::vector<std::string_view> paths = {"metadata.name"};
  for (const resource::Column& column : resource::info(kind).columns) {
    if (column.wide && !wide) continue;
    headers.emplace_back(column.header);
    paths.push_back(column.path);
  }
  if (wide) {
    headers.emplace_back("REVISION");
    paths.emplace_back("metadata.revision");
  }
  if (wide && std::ranges::find(paths, "metadata.labels") == paths.end()) {
    headers.emplace_back("LABELS");
    paths.emplace_back("metadata.labels");
  }
  std::vector<Row> rows;
  for (const v1::Resource& one : resources) {
    Row& row = rows.emplace_back();
    for (const std::string_view path : paths) row.push_back(resource::cell_text(one, path));
  }
  print_out(render_table(headers, rows));
}

void print(resource::Kind kind, const std::vector<v1::Resource>& resources, Output output,
           bool single) {
  switch (output) {
    case Output::Json:
      print_out(single ? resource::to_json_pretty(resources.front())
                       : resource::list_to_json_pretty(resources));
      return;
    case Output::Yaml:
      print_out(single ? resource::to_yaml(resources.front()) : resource::list_to_yaml(resources));
      return;
    case Output::Name:
      for (const v1::Resource& one : resources) {
        print_out(fmt::format("{}/{}\n", one.kind(), one.metadata().name()));
      }
      return;
    case Output::Table:
    case Output::Wide:
      print_table(kind, resources, output == Output::Wide);
  }
}

}  // namespace

Exit get(Client& client, const GetOptions& options) {
  const auto target = parse_target(options.kind, options.names);
  if (!target) return report(target.error());
  const resource::Kind kind = target->kind;
  const Result<std::vector<v1::Resource>> resources =
      target->names.empty() ? fetch_all(client, kind, options.labels)
                            : fetch_named(client, kind, target->names);
  if (!resources.ok()) return report(explain(resources.status(), client.asked()));
  const bool table = options.output == Output::Table || options.output == Output::Wide;
  if (resources->empty() && table) {
    print_err(fmt::format("No {} found.\n", resource::info(kind).plural));
    return Exit::Ok;
  }
  print(kind, *resources, options.output, target->names.size() == 1);
  return Exit::Ok;
}

Exit remove(Client& client, const DeleteOptions& options) {
  const auto target = parse_target(options.kind, options.names);
  if (!target) return report(target.error());
  if (target->names.empty()) return report({Exit::Usage, "HF6010", "name what to delete", ""});
  for (const std::string& name : target->names) {
    v1::DeleteRequest request;
    request.set_kind(std::string(resource::info(target->kind).name));
    request.set_name(name);
    const Result<v1::DeleteResponse> deleted = client.remove(request);
    if (!deleted.ok()) return report(explain(deleted.status(), client.asked()));
    print_out(fmt::format("{}/{} deleted\n", request.kind(), name));
  }
  return Exit::Ok;
}

}  // namespace holdfast::cli
