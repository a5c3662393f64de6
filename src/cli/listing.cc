#include "cli/listing.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/node_columns.h"
#include "resource/codec.h"
#include "resource/field_path.h"
#include "resource/registry.h"

namespace holdfast::cli {
namespace {

std::vector<resource::Column> columns_of(resource::Kind kind, bool wide) {
  std::vector<resource::Column> columns = {{"NAME", "metadata.name"}};
  for (const resource::Column& column : resource::info(kind).columns) {
    if (wide || !column.wide) columns.push_back(column);
  }
  if (!wide) return columns;
  columns.push_back({"REVISION", "metadata.revision"});
  if (std::ranges::find(columns, "metadata.labels", &resource::Column::path) == columns.end()) {
    columns.push_back({"LABELS", "metadata.labels"});
  }
  return columns;
}

Row headers_of(const std::vector<resource::Column>& columns) {
  Row headers;
  for (const resource::Column& column : columns) headers.emplace_back(column.header);
  return headers;
}

}  // namespace

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

std::string event_json(const v1::Event& event) {
  return fmt::format("{{\"type\":\"{}\",\"revision\":{},\"resource\":{}}}\n",
                     event.type() == v1::EVENT_TYPE_PUT ? "put" : "delete", event.revision(),
                     resource::to_json(event.resource()));
}

ResourceTable::ResourceTable(resource::Kind kind, bool wide, LastColumn last)
    : is_nodes_(is_node_kind(kind)),
      wide_(wide),
      table_(is_nodes_ ? node_headers(kind, wide) : headers_of(columns_of(kind, wide)),
             wide ? LastColumn::Whole : last) {
  for (const resource::Column& column : columns_of(kind, wide)) paths_.push_back(column.path);
}

Row ResourceTable::row(const v1::Resource& resource) const {
  if (is_nodes_) return node_row(resource, wide_, SystemClock().wall_now());
  Row cells;
  for (const std::string_view path : paths_) cells.push_back(resource::cell_text(resource, path));
  return cells;
}

std::string ResourceTable::begin(const std::vector<v1::Resource>& resources) {
  std::vector<Row> rows;
  for (const v1::Resource& one : resources) rows.push_back(row(one));
  return table_.begin(rows);
}

std::string ResourceTable::more(const v1::Resource& resource) {
  return table_.more(row(resource));
}

std::string ResourceTable::gone(const std::string& name) {
  return table_.more({name, "deleted"});
}

}  // namespace holdfast::cli
