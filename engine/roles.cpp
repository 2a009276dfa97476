#include "engine/roles.hpp"

namespace databuffer::detail {
namespace {

constinit thread_local const RoleFrame* innermost = nullptr;

}  // namespace

RoleFrame::RoleFrame(const Core& core, const Turn* turn) noexcept
    : core_(&core), turn_(turn), outer_(innermost) {
  innermost = this;
}

RoleFrame::~RoleFrame() { innermost = outer_; }

bool RoleFrame::works_for(const Core& core) noexcept {
  for (const RoleFrame* frame = innermost; frame != nullptr; frame = frame->outer_) {
    if (frame->core_ == &core) return true;
  }
  return false;
}

bool RoleFrame::holds(const Turn& turn) noexcept {
  for (const RoleFrame* frame = innermost; frame != nullptr; frame = frame->outer_) {
    if (frame->turn_ == &turn) return true;
  }
  return false;
}

}  // namespace databuffer::detail
