// Takes the place of libGLX for OpenCV's archive, which looks up OpenGL's
// functions by the first one and shares its contexts by the others. feedmill
// draws nothing; OpenCV raises an error if an OpenGL function is called that
// was not found.

extern "C" {
using OpenGlFunction = void (*)();
// NOLINTBEGIN(readability-identifier-naming): libGLX's names
OpenGlFunction glXGetProcAddressARB(const unsigned char* /*name*/) {
  return nullptr;
}
void* glXGetCurrentContext() { return nullptr; }
void* glXGetCurrentDisplay() { return nullptr; }
// NOLINTEND(readability-identifier-naming)
}
