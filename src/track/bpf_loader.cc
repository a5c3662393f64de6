#include "track/bpf_loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/reason.h"
#include "track/bpf_handles.h"

// The compiled programs, put here by hf_bpf().
extern "C" const char _binary_track_bpf_start[];
extern "C" const char _binary_track_bpf_end[];

namespace holdfast::track {
namespace {

using Object = std::unique_ptr<bpf_object, decltype(&bpf_object__close)>;

constexpr const char* kAudit = "hf_audit";
constexpr const char* kMend = "hf_mend";

std::string pin(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

std::string link_pin(const std::string& directory, std::string_view program) {
  return fmt::format("{}/link_{}", directory, program);
}

Status load_failed(std::string_view code, int error, std::string_view doing) {
  return coded(absl::ErrnoToStatusCode(error), code,
               fmt::format("{}: {}", doing, std::strerror(error)));
}

Status wrong_object(std::string_view code, std::string_view what) {
  return coded(absl::StatusCode::kFailedPrecondition, code, what);
}

bool is_on(const std::string& path, long magic) {
  struct statfs system{};
  return ::statfs(path.c_str(), &system) == 0 && system.f_type == magic;
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// The nearest folder that is there: where `path` would be made.
std::string existing_part(std::filesystem::path path) {
  while (!path.empty() && path != path.root_path() && !exists(path.string())) {
    path = path.parent_path();
  }
  return path.string();
}

Status ensure_directory(const LoadOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) return load_failed("HF8102", error.value(), "making " + options.directory);
  if (is_on(options.directory, BPF_FS_MAGIC)) return absl::OkStatus();
  if (::mount("bpffs", options.directory.c_str(), "bpf", 0, "mode=0700") != 0) {
    return load_failed("HF8102", errno, "mounting a bpffs at " + options.directory);
  }
  return absl::OkStatus();
}

Status ensure_cgroup(const LoadOptions& options, Loaded& loaded) {
  if (!options.make_cgroup || exists(options.cgroup)) return absl::OkStatus();
  std::error_code error;
  loaded.cgroup_made = std::filesystem::create_directories(options.cgroup, error);
  if (error) return load_failed("HF8103", error.value(), "making " + options.cgroup);
  return absl::OkStatus();
}

// Whoever is named, else whose the folder is: an upgrade must not take the pins from the agent.
std::optional<Owner> owner_of(const LoadOptions& options) {
  if (options.owner) return options.owner;
  struct stat folder{};
  const bool found = ::stat(options.directory.c_str(), &folder) == 0;
  if (!found || (folder.st_uid == 0 && folder.st_gid == 0)) return std::nullopt;
  return Owner{.user = folder.st_uid, .group = folder.st_gid};
}

// The folder and all that is ours in it.
Status give_to_owner(const LoadOptions& options) {
  const std::optional<Owner> owner = owner_of(options);
  if (!owner) return absl::OkStatus();
  std::vector<std::string> paths = {options.directory};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options.directory, error)) {
    paths.push_back(entry.path().string());
  }
  for (const std::string& path : paths) {
    if (::lchown(path.c_str(), owner->user, owner->group) != 0) {
      return load_failed("HF8102", errno, "giving away " + path);
    }
  }
  return absl::OkStatus();
}

// What is pinned decides sizes: a map of another size is another map.
Status size_maps(bpf_object* object, const LoadOptions& options, Loaded& loaded) {
  const std::array<std::pair<const char*, uint32_t>, 7> sizes = {{
      {"hf_services", options.sizes.services},
      {"hf_plans", options.sizes.services},
      {"hf_slots", options.sizes.slots},
      {"hf_health", options.sizes.backends},
      {"hf_counters", options.sizes.counters},
      {"hf_failures", options.sizes.counters},
      {"hf_reserved", options.sizes.counters},
  }};
  for (const auto& [name, size] : sizes) {
    bpf_map__set_max_entries(bpf_object__find_map_by_name(object, name), size);
  }
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object) {
    const std::string path = pin(options.directory, bpf_map__name(map));
    bpf_map__set_pin_path(map, path.c_str());
    const Descriptor old(bpf_obj_get(path.c_str()));
    if (!old.is_open()) continue;
    bpf_map_info info{};
    uint32_t length = sizeof(info);
    if (bpf_obj_get_info_by_fd(old.get(), &info, &length) != 0 ||
        info.value_size != bpf_map__value_size(map) || info.key_size != bpf_map__key_size(map)) {
      return wrong_object("HF8105", path + " has another layout than these programs");
    }
    bpf_map__set_max_entries(map, info.max_entries);
    loaded.maps_reused += 1;
  }
  return absl::OkStatus();
}

Status check_layout(const std::string& directory) {
  const Descriptor map(bpf_obj_get(pin(directory, "hf_settings").c_str()));
  if (!map.is_open()) return absl::OkStatus();
  const uint32_t zero = 0;
  hf_settings settings{};
  if (bpf_map_lookup_elem(map.get(), &zero, &settings) != 0) {
    return load_failed("HF8105", errno, "reading the pinned settings");
  }
  if (settings.layout == HF_LAYOUT || settings.layout == 0) return absl::OkStatus();
  return wrong_object("HF8105", fmt::format("{} has layout {}, these programs have {}", directory,
                                            settings.layout, HF_LAYOUT));
}

Result<Object> open_object(std::string& log) {
  log.resize(64 << 10);
  LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "holdfast_track",
              .kernel_log_buf = log.data(), .kernel_log_size = log.size(), .kernel_log_level = 0, );
  // libbpf prints to stderr otherwise; what matters comes back as a Status.
  libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
  const auto size = static_cast<size_t>(_binary_track_bpf_end - _binary_track_bpf_start);
  bpf_object* object = bpf_object__open_mem(_binary_track_bpf_start, size, &opts);
  if (object == nullptr) return load_failed("HF8106", errno, "reading the programs");
  return Object(object, &bpf_object__close);
}

uint64_t cgroup_id(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

Status update_link(int link, bpf_program* program, const LoadOptions& options) {
  bpf_link_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(link, &info, &length) != 0) {
    return load_failed("HF8106", errno, "looking at a pinned link");
  }
  if (info.type == BPF_LINK_TYPE_CGROUP && info.cgroup.cgroup_id != cgroup_id(options.cgroup)) {
    return wrong_object("HF8107", fmt::format("the pins in {} belong to another cgroup than {}",
                                              options.directory, options.cgroup));
  }
  if (bpf_link_update(link, bpf_program__fd(program), nullptr) != 0) {
    return load_failed("HF8106", errno, fmt::format("replacing {}", bpf_program__name(program)));
  }
  return absl::OkStatus();
}

Status pin_link(bpf_link* made, bpf_program* program, const std::string& path) {
  const std::string name = bpf_program__name(program);
  if (made == nullptr) return load_failed("HF8106", errno, "attaching " + name);
  const std::unique_ptr<bpf_link, decltype(&bpf_link__destroy)> link(made, &bpf_link__destroy);
  if (const int error = bpf_link__pin(link.get(), path.c_str()); error != 0) {
    return load_failed("HF8106", -error, "pinning " + name);
  }
  return absl::OkStatus();
}

// Updates the link that is pinned, or attaches and pins a new one.
Status attach(bpf_object* object, const char* name, int cgroup, const LoadOptions& options,
              Loaded& loaded) {
  bpf_program* program = bpf_object__find_program_by_name(object, name);
  const std::string path = link_pin(options.directory, name);
  const Descriptor old(bpf_obj_get(path.c_str()));
  if (old.is_open()) {
    loaded.links_updated += 1;
    return update_link(old.get(), program, options);
  }
  loaded.links_made += 1;
  if (std::string_view(name) != kAudit) {
    return pin_link(bpf_program__attach_cgroup(program, cgroup), program, path);
  }
  bpf_iter_link_info info{};
  info.map.map_fd = static_cast<uint32_t>(bpf_object__find_map_fd_by_name(object, "hf_sockets"));
  LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info), );
  return pin_link(bpf_program__attach_iter(program, &opts), program, path);
}

Status pin_mend(bpf_object* object, const std::string& directory) {
  const std::string path = pin(directory, kMend);
  ::unlink(path.c_str());
  const int error = bpf_program__pin(bpf_object__find_program_by_name(object, kMend), path.c_str());
  return error == 0 ? absl::OkStatus() : load_failed("HF8106", -error, "pinning hf_mend");
}

Status write_settings(bpf_object* object, const hf_settings& settings) {
  const uint32_t zero = 0;
  const int map = bpf_object__find_map_fd_by_name(object, "hf_settings");
  if (bpf_map_update_elem(map, &zero, &settings, BPF_ANY) != 0) {
    return load_failed("HF8106", errno, "writing the settings");
  }
  return absl::OkStatus();
}

// The last lines of what the verifier said.
std::string tail(const std::string& log) {
  const std::string_view text(log.c_str());
  return std::string(text.size() > 600 ? text.substr(text.size() - 600) : text);
}

Status no_rights(std::string_view doing) {
  return coded(
      absl::StatusCode::kPermissionDenied, "HF8101",
      fmt::format("{} is not permitted: CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN are needed", doing));
}

// The least of programs first: what is not permitted says nothing of the kernel's age. Then the
// youngest thing that is needed, an error of our own in connect and sendmsg, since 6.1.
Status try_a_program() {
  const std::array<bpf_insn, 2> nothing = {{
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
      {.code = BPF_JMP | BPF_EXIT},
  }};
  LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE, );
  const Descriptor program(
      bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "hf_try", "GPL", nothing.data(), nothing.size(), &opts));
  if (!program.is_open() && errno == EPERM) return no_rights("loading programs into the kernel");
  if (program.is_open() &&
      libbpf_probe_bpf_helper(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_FUNC_set_retval, nullptr) != 0) {
    return absl::OkStatus();
  }
  return wrong_object("HF8104",
                      "the kernel does not take the programs: it is older than 6.1, or "
                      "BPF is switched off in it");
}

}  // namespace

Status check_machine(const LoadOptions& options) {
  if (::geteuid() != 0) {
    return coded(absl::StatusCode::kPermissionDenied, "HF8101",
                 "loading programs into the kernel needs root");
  }
  if (!exists("/sys/kernel/btf/vmlinux")) {
    return wrong_object("HF8104", "the kernel has no type information (/sys/kernel/btf/vmlinux)");
  }
  const std::string cgroup = options.make_cgroup ? existing_part(options.cgroup) : options.cgroup;
  if (!is_on(cgroup, CGROUP2_SUPER_MAGIC)) {
    return wrong_object("HF8103", fmt::format("\"{}\" is no folder of a cgroup2", options.cgroup));
  }
  if (!options.mount_bpffs && !is_on(existing_part(options.directory), BPF_FS_MAGIC)) {
    return wrong_object("HF8102", fmt::format("{} is not on a bpffs", options.directory));
  }
  return try_a_program();
}

Result<Loaded> load(const LoadOptions& options) {
  Loaded loaded;
  TRY_OK(check_machine(options));
  TRY_OK(ensure_cgroup(options, loaded));
  TRY_OK(ensure_directory(options));
  TRY_OK(check_layout(options.directory));
  std::string log;
  TRY(Object object, open_object(log));
  TRY_OK(size_maps(object.get(), options, loaded));
  if (const int error = bpf_object__load(object.get()); error != 0) {
    if (error == -EPERM) return no_rights("loading programs into the kernel");
    return load_failed("HF8106", -error, "the kernel refuses the programs: " + tail(log));
  }
  TRY_OK(write_settings(object.get(), options.settings));
  const Descriptor cgroup(::open(options.cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup.is_open()) return load_failed("HF8103", errno, "opening " + options.cgroup);
  TRY_OK(pin_mend(object.get(), options.directory));
  TRY_OK(attach(object.get(), kAudit, cgroup.get(), options, loaded));
  for (const char* name : kAttached) {
    TRY_OK(attach(object.get(), name, cgroup.get(), options, loaded));
  }
  TRY_OK(give_to_owner(options));
  return loaded;
}

Status unload(const std::string& directory) {
  if (!is_on(directory, BPF_FS_MAGIC))
    return wrong_object("HF8102", directory + " is not on a bpffs");
  // What begins goes first, the other way round than it came.
  for (auto name = kAttached.rbegin(); name != kAttached.rend(); ++name) {
    const Descriptor link(bpf_obj_get(link_pin(directory, *name).c_str()));
    if (link.is_open()) bpf_link_detach(link.get());
  }
  std::vector<std::filesystem::path> pins;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("hf_") || name.starts_with("link_hf_")) pins.push_back(entry.path());
  }
  for (const auto& path : pins) std::filesystem::remove(path, error);
  if (error) return load_failed("HF8102", error.value(), "removing the pins in " + directory);
  return absl::OkStatus();
}

}  // namespace holdfast::track
