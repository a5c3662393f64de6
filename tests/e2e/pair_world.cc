#include "e2e/pair_world.h"

#include <fmt/format.h>

#include <sstream>

#include "base/check.h"
#include "e2e/cluster_process.h"
#include "support/eventually.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::string must(const ProgramOutcome& outcome) {
  HF_CHECK(outcome.exit_code == 0, outcome.error + outcome.output);
  return outcome.output;
}

bool same_end(const v1::PairHead& one, const v1::PairHead& other) {
  return one.epoch() == other.epoch() && one.revision() == other.revision() &&
         one.chain() == other.chain();
}

}  // namespace

PairWorld::PairWorld(PairWorldOptions options)
    : options_(std::move(options)),
      network_({"primary", "backup", "witness"}),
      primary_(network_, "primary", "controller"),
      backup_(network_, "backup", "controller"),
      witness_(network_, "witness", "witness") {
  if (options_.small_disks) primary_.use_small_disk();
  if (options_.small_disks) backup_.use_small_disk();
  make_cluster();
  if (options_.mode == "none") return;
  // A client's call makes one of them active, if nothing else does.
  const auto is_served = [&] { return primary_.cli({"get", "services"}).exit_code == 0; };
  HF_CHECK(eventually(is_served, 20s), "a new pair serves: " + describe());
  HF_CHECK(becomes_whole(), "a new pair becomes whole: " + describe());
}

// As in docs: one controller first, the others join it, then it is told of them.
void PairWorld::make_cluster() {
  primary_.configure(config_of(primary_, false));
  primary_.start();
  const std::string ca_pem = init_cluster(primary_.unix_server());
  admin_ = make_certificate(primary_.unix_server(), ca_pem, {.name = "test", .roles = {"admin"}});
  std::istringstream lines(must(primary_.cli({"rotate", "status"})));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("pin ")) pin_ = line.substr(line.find("sha256:"));
  }
  if (options_.mode == "none") return;
  join(backup_, "controller", primary_);
  backup_.configure(config_of(backup_, true));
  if (options_.mode == "witness") {
    join(witness_, "witness", primary_);
    witness_.configure(config_of_witness());
    witness_.start();
  }
  primary_.terminate();
  primary_.configure(config_of(primary_, true));
  primary_.start();
  backup_.start();
}

void PairWorld::join(const PairMember& member, const std::string& role, const PairMember& at) {
  const std::string token =
      must(at.cli({"token", "create", "--role", role, "--name", member.name()}));
  std::vector<std::string> words = {built("holdfast"),
                                    "--profile",
                                    "/nonexistent/profile",
                                    "join",
                                    "--token-file",
                                    "-",
                                    "--data-dir",
                                    member.data_dir(),
                                    "--pin",
                                    pin_,
                                    at.address()};
  if (role == "controller") {
    words.insert(words.begin() + 4, {"--host", network_.address(member.name())});
  }
  ProgramOutcome joined;
  // Listeners over TLS open once there is an authority.
  const auto joins = [&] {
    joined = run_program({.arguments = words, .input = token});
    return joined.exit_code == 0;
  };
  HF_CHECK(eventually(joins, 10s), member.name() + " joins: " + joined.error);
}

std::string PairWorld::config_of(const PairMember& half, bool paired) const {
  const std::string host = network_.address(half.name());
  std::string yaml = fmt::format(
      "version: 1\n"
      "controller:\n"
      "  name: {}\n"
      "  data_dir: {}\n"
      "  listen: [{}]\n"
      "  advertise: {}\n"
      "  hosts: [{}]\n"
      "  http: {{listen: '', health_listen: ''}}\n"
      "limits: {{requests_per_second: 1000000, request_burst: 1000000}}\n",
      half.name(), half.data_dir(), half.address(), half.address(), host);
  if (!paired) return yaml;
  const PairMember& peer = &half == &primary_ ? backup_ : primary_;
  yaml += fmt::format("ha:\n  role: {}\n  peer: {}\n  mode: {}\n", half.name(), peer.address(),
                      options_.mode);
  if (options_.mode == "witness") yaml += fmt::format("  witness: {}\n", witness_.address());
  return yaml;
}

std::string PairWorld::config_of_witness() const {
  return fmt::format(
      "version: 1\n"
      "node: {{data_dir: {}, servers: ['{}', '{}']}}\n"
      "witness: {{listen: '{}'}}\n",
      witness_.data_dir(), primary_.address(), backup_.address(), witness_.address());
}

std::vector<PairMember*> PairWorld::actives() {
  std::vector<PairMember*> found;
  for (PairMember* half : {&primary_, &backup_}) {
    const Result<v1::PairStatus> status = half->status();
    if (status.ok() && status->self().state() == v1::PAIR_STATE_ACTIVE) found.push_back(half);
  }
  return found;
}

PairMember& PairWorld::active() {
  if (options_.mode == "none") return primary_;
  PairMember* found = nullptr;
  const auto is_one = [&] {
    uint64_t latest = 0;
    for (PairMember* half : actives()) {
      const Result<v1::PairStatus> status = half->status();
      if (!status.ok() || status->self().epoch() < latest) continue;
      latest = status->self().epoch();
      found = half;
    }
    return found != nullptr;
  };
  HF_CHECK(eventually(is_one, 20s), "one half is active: " + describe());
  return *found;
}

bool PairWorld::is_whole() {
  const std::vector<PairMember*> found = actives();
  if (found.size() != 1) return false;
  const Result<v1::PairStatus> active = found.front()->status();
  const Result<v1::PairStatus> passive = other(*found.front()).status();
  return active.ok() && active->in_sync() && passive.ok() &&
         passive->self().state() == v1::PAIR_STATE_PASSIVE;
}

bool PairWorld::is_equal() {
  if (!is_whole()) return false;
  const Result<v1::PairStatus> one = primary_.status();
  const Result<v1::PairStatus> another = backup_.status();
  return one.ok() && another.ok() && same_end(one->self().head(), another->self().head());
}

bool PairWorld::becomes_whole(Duration patience) {
  return eventually([&] { return is_whole(); }, patience);
}

bool PairWorld::becomes_equal(Duration patience) {
  return eventually([&] { return is_equal(); }, patience);
}

void PairWorld::mend() {
  network_.heal();
  std::vector<PairMember*> all = {&primary_, &backup_};
  if (options_.mode == "witness") all.push_back(&witness_);
  for (PairMember* member : all) {
    if (!member->running()) member->start();
    member->thaw();
    if (options_.small_disks && member != &witness_) member->free_disk();
  }
}

std::string PairWorld::describe() {
  std::string text;
  for (PairMember* half : {&primary_, &backup_}) {
    const Result<v1::PairStatus> status = half->status();
    text += fmt::format("\n--- {}: {}\n", half->name(),
                        status.ok() ? status->ShortDebugString() : status.status().ToString());
    const std::string log = half->log();
    text += log.substr(log.size() > 4000 ? log.size() - 4000 : 0);
  }
  const std::string log = witness_.log();
  return text + "\n--- witness\n" + log.substr(log.size() > 1000 ? log.size() - 1000 : 0);
}

}  // namespace holdfast::test
