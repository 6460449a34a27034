// Missing is null in JSON.
#pragma once

#include <optional>

#include "results/record/record.h"

namespace plimsoll {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace plimsoll
