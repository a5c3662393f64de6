// Headers nearly every file includes; precompiled once for all modules without sockets.
#pragma once
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
