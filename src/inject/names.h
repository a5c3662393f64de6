// Which texts Kubernetes takes as names, and which as images.
#pragma once

#include <string_view>

namespace holdfast::inject {

// Of containers and namespaces.
bool is_dns_label(std::string_view text);
// Of secrets: labels with dots between them.
bool is_dns_name(std::string_view text);
// What may be in the name of an image; nothing of it needs an escape in YAML.
bool is_image(std::string_view text);

}  // namespace holdfast::inject
