#include "host/slicer/partition.hpp"

namespace sluice::slicer {

void append(SliceList& list, Slice* slice) {
  slice->previous = list.tail;
  slice->next = nullptr;
  (list.tail != nullptr ? list.tail->next : list.head) = slice;
  list.tail = slice;
}

void insert_after(SliceList& list, Slice* position, Slice* slice) {
  slice->previous = position;
  slice->next = position->next;
  (position->next != nullptr ? position->next->previous : list.tail) = slice;
  position->next = slice;
}

void insert_front(SliceList& list, Slice* slice) {
  slice->previous = nullptr;
  slice->next = list.head;
  (list.head != nullptr ? list.head->previous : list.tail) = slice;
  list.head = slice;
}

void unlink(SliceList& list, Slice* slice) {
  if (list.waiting == slice) list.waiting = slice->next;
  (slice->previous != nullptr ? slice->previous->next : list.head) = slice->next;
  (slice->next != nullptr ? slice->next->previous : list.tail) = slice->previous;
  slice->previous = slice->next = nullptr;
}

}  // namespace sluice::slicer
