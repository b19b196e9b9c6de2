#include "python/src/status.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "core/base/status.h"
#include "python/src/gil.h"

namespace feedmill::python {

namespace nb = nanobind;

void Raise(const absl::Status& status) {
  const std::string code = absl::StatusCodeToString(status.code());
  const std::string text = ErrorText(status);
  // The message may quote bytes of a file that are not UTF-8.
  const nb::object message = nb::steal(PyUnicode_DecodeUTF8(
      text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  const nb::object make_error =
      nb::module_::import_("feedmill.errors").attr("make_error");
  const nb::object error =
      CallPython(make_error.ptr(), nb::cast(code), message);
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace feedmill::python
