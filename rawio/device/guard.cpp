#include "rawio/device/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "results/base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;

namespace {

// udev opens a device for some milliseconds after each change of it.
constexpr int kOpenerPatience_tries = 4;
constexpr auto kOpenerPatience_step = std::chrono::milliseconds(50);

bool only_opened(const std::vector<Refusal>& refusals) {
  return std::all_of(refusals.begin(), refusals.end(), [](const Refusal& refusal) {
    return refusal.reason == RefusalReason::kOpened || refusal.waivable();
  });
}

bool any_opened(const std::vector<Refusal>& refusals) {
  return std::any_of(refusals.begin(), refusals.end(), [](const Refusal& refusal) {
    return refusal.reason == RefusalReason::kOpened;
  });
}

std::vector<Refusal> find_lasting_refusals(const DeviceStack& stack, const EraseRequest& request) {
  auto refusals = find_refusals(stack, request.results_dir);
  for (int tries = 1; tries < kOpenerPatience_tries; ++tries) {
    if (!any_opened(refusals) || !only_opened(refusals)) break;
    std::this_thread::sleep_for(kOpenerPatience_step);
    refusals = find_refusals(stack, request.results_dir);
  }
  return refusals;
}

void drop_waived(std::vector<Refusal>& refusals) {
  std::erase_if(refusals, [](const Refusal& refusal) { return refusal.waivable(); });
}

[[noreturn]] void refuse(const DeviceStack& stack, const std::vector<Refusal>& refusals) {
  std::string text = stack.levels.front().node + " is not erased: it ";
  for (std::size_t index = 0; index < refusals.size(); ++index) {
    text += (index == 0 ? "" : "; it ") + refusals[index].text;
  }
  throw RefusedError(text);
}

void require_erase(const DeviceStack& stack, const EraseRequest& request) {
  const auto names = erase_names(stack);
  const auto& node = stack.levels.front().node;
  if (!request.erase && request.named.empty()) {
    throw RefusedError(
        fmt::format("writing to {} destroys what is on it; say so with --erase", node));
  }
  const bool matches = std::find(names.begin(), names.end(), request.named) != names.end();
  if (request.named.empty() || matches) return;
  throw RefusedError(fmt::format("--erase={} doesn't name {}; its name is {}", request.named, node,
                                 names.front()));
}

// What a failed exclusive open means, in the order of usefulness to the user.
[[noreturn]] void explain_open(const DeviceStack& stack, const EraseRequest& request, int error) {
  const auto& node = stack.levels.front().node;
  auto refusals = find_refusals(stack, request.results_dir);
  drop_waived(refusals);
  if (error == EBUSY && !refusals.empty()) refuse(stack, refusals);
  if (error == EBUSY) {
    throw RefusedError(node +
                       " is not erased: the kernel or another program has claimed it "
                       "(O_EXCL); stop what uses it");
  }
  if (error == EROFS) {
    throw RefusedError(node +
                       " is not erased: it is read-only; make it writable "
                       "(blockdev --setrw) or name another");
  }
  const bool rights = error == EACCES || error == EPERM;
  throw RefusedError(fmt::format("{} can't be opened for writing: {}{}", node, std::strerror(error),
                                 rights ? "; run as root" : ""));
}

bool is_same_device(int fd, dev_t number) {
  struct stat facts {};
  return fstat(fd, &facts) == 0 && S_ISBLK(facts.st_mode) && facts.st_rdev == number;
}

}  // namespace

Consent Consent::obtain(const fs::path& device, const EraseRequest& request) {
  if (!fs::is_block_file(device)) {
    throw UsageError(device.string() + " is no block device; --erase is for block devices only");
  }
  auto stack = identify(device);
  if (stack.levels.empty()) {
    throw RefusedError(device.string() + " is unknown to /sys; mount sysfs to let it be checked");
  }
  require_erase(stack, request);
  const int fd = open(device.c_str(), O_RDWR | O_EXCL | O_CLOEXEC);
  if (fd < 0) explain_open(stack, request, errno);
  Consent consent(fd, std::move(stack));
  if (!is_same_device(fd, consent.stack_.levels.front().number)) {
    throw RefusedError(device.string() + " became another device meanwhile; try again");
  }
  auto refusals = find_lasting_refusals(consent.stack_, request);
  if (!request.named.empty()) drop_waived(refusals);
  if (!refusals.empty()) refuse(consent.stack_, refusals);
  return consent;
}

Consent::Consent(Consent&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), stack_(std::move(other.stack_)) {}

Consent& Consent::operator=(Consent&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(stack_, other.stack_);
  return *this;
}

Consent::~Consent() {
  if (fd_ >= 0) close(fd_);
}

int Consent::open_again(int flags) const {
  const int fd = open(fmt::format("/proc/self/fd/{}", fd_).c_str(), flags | O_CLOEXEC);
  if (fd < 0) {
    throw BrokenError(fmt::format("{} can't be opened again: {}; was it pulled out?",
                                  stack_.levels.front().node, std::strerror(errno)));
  }
  return fd;
}

}  // namespace plimsoll
