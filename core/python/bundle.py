# Imports the modules of feedmill_process from memory, and runs main(). The build
# puts SOURCES before this text: the text of each module by its name.

import sys
from importlib.machinery import ModuleSpec

PACKAGE = "feedmill_process"


class Bundle:
    """Finds and loads the modules of SOURCES."""

    def find_spec(self, name, path=None, target=None):
        if name not in SOURCES:  # noqa: F821
            return None
        return ModuleSpec(name, self, is_package=name == PACKAGE)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        exec(compile(SOURCES[name], f"<{name}>", "exec"), module.__dict__)  # noqa: F821


sys.meta_path.insert(0, Bundle())

from feedmill_process.main import main  # noqa: E402

main()
