// Resources as a listing shows them, and how they are fetched.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/table.h"
#include "resource/kind.h"

namespace holdfast::cli {

Result<std::vector<v1::Resource>> fetch_named(Client& client, resource::Kind kind,
                                              const std::vector<std::string>& names);
// Page after page.
Result<std::vector<v1::Resource>> fetch_all(Client& client, resource::Kind kind,
                                            const std::map<std::string, std::string>& labels);

// {"type":"put","revision":2,"resource":{...}} and a line end.
std::string event_json(const v1::Event& event);

// The columns of a kind; a wide table's last is whole.
class ResourceTable {
 public:
  ResourceTable(resource::Kind kind, bool wide, LastColumn last);

  std::string begin(const std::vector<v1::Resource>& resources);
  std::string more(const v1::Resource& resource);
  // A row that says that it was deleted.
  std::string gone(const std::string& name);

 private:
  Row row(const v1::Resource& resource) const;

  bool is_nodes_;
  bool wide_;
  std::vector<std::string_view> paths_;
  Table table_;
};

}  // namespace holdfast::cli
