// Takes the place of libGLX for OpenCV's archive, which looks up OpenGL's
// functions by this one. feedmill draws nothing; OpenCV raises an error if an
// OpenGL function is called that was not found.

extern "C" {
using OpenGlFunction = void (*)();
// NOLINTNEXTLINE(readability-identifier-naming): libGLX's name
OpenGlFunction glXGetProcAddressARB(const unsigned char* /*name*/) {
  return nullptr;
}
}
