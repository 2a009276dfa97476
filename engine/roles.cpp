#include "engine/roles.hpp"

namespace databuffer::detail {
namespace {

constinit thread_local const RoleFrame* innermost = nullptr;

}  // namespace

RoleFrame::RoleFrame(const Core& core, Role role, const Turn* turn) noexcept
    : core_(&core), role_(role), turn_(turn), outer_(innermost) {
  innermost = this;
}

RoleFrame::~RoleFrame() { innermost = outer_; }

bool RoleFrame::works_for(const Core& core) noexcept {
  for (const RoleFrame* frame = innermost; frame != nullptr; frame = frame->outer_) {
    const bool works = frame->role_ == Role::kWork || frame->role_ == Role::kDrop;
    if (frame->core_ == &core && works) return true;
  }
  return false;
}

bool RoleFrame::has(const Core& core, Role role) noexcept {
  for (const RoleFrame* frame = innermost; frame != nullptr; frame = frame->outer_) {
    if (frame->core_ == &core && frame->role_ == role) return true;
  }
  return false;
}

bool RoleFrame::is_in_hook() noexcept {
  for (const RoleFrame* frame = innermost; frame != nullptr; frame = frame->outer_) {
    if (frame->role_ == Role::kHook) return true;
  }
  return false;
}

bool RoleFrame::holds_a_turn_of(const Core& core) noexcept {
  for (const RoleFrame* frame = innermost; frame != nullptr; frame = frame->outer_) {
    if (frame->core_ == &core && frame->turn_ != nullptr) return true;
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
