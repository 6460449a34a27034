#include "rawio/device/signatures.h"

#include <blkid/blkid.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "rawio/device/sysfs.h"
#include "results/base/error.h"

namespace plimsoll {

namespace {

using Probe = std::unique_ptr<blkid_struct_probe, decltype(&blkid_free_probe)>;

std::optional<std::string> value_of(blkid_probe probe, const char* name) {
  const char* text = nullptr;
  if (blkid_probe_lookup_value(probe, name, &text, nullptr) != 0) return {};
  return std::string(text);
}

std::optional<std::uint64_t> number_of(blkid_probe probe, const char* name) {
  const auto text = value_of(probe, name);
  return text ? parse_number<std::uint64_t>(*text) : std::nullopt;
}

std::optional<Signature> found(blkid_probe probe) {
  if (const auto table = value_of(probe, "PTTYPE")) {
    return Signature{*table, "partition table", number_of(probe, "PTMAGIC_OFFSET")};
  }
  if (const auto type = value_of(probe, "TYPE")) {
    return Signature{*type, value_of(probe, "USAGE").value_or("other"),
                     number_of(probe, "SBMAGIC_OFFSET"), value_of(probe, "LABEL").value_or("")};
  }
  return {};
}

[[noreturn]] void refuse() {
  throw RefusedError("libblkid's reads fail; see dmesg for the device's errors");
}

Probe make_probe(int fd) {
  Probe probe(blkid_new_probe(), blkid_free_probe);
  if (!probe || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0) refuse();
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
                                                     BLKID_SUBLKS_LABEL | BLKID_SUBLKS_MAGIC |
                                                     BLKID_SUBLKS_BADCSUM);
  blkid_probe_enable_partitions(probe.get(), 1);
  // A GPT counts also without the protective MBR that some tool has overwritten.
  blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
  return probe;
}

}  // namespace

std::vector<Signature> probe_signatures(int fd) {
  const Probe probe = make_probe(fd);
  std::vector<Signature> signatures;
  int outcome = 0;
  while ((outcome = blkid_do_probe(probe.get())) == 0) {
    if (auto signature = found(probe.get())) signatures.push_back(std::move(*signature));
  }
  if (outcome < 0) refuse();
  return signatures;
}

}  // namespace plimsoll
