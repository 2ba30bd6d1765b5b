"""Changes product code, one operator, bound or constant at a time, and asks the tests: see scripts/mutate.sh.

Nothing is rebuilt that does not depend on the change. Objects of the library that do are compiled into a shared object
that is loaded before the library, whose functions then take the place of the library's; objects of test programs are
linked into a second program beside the first.
"""

import argparse
import collections
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

# What tests without a GPU can run.
FILES = """
src/CudaMedianChain.cxx src/CudaMedianEngine.cxx src/CudaMedianNames.cxx
src/core/*
src/program/*
src/algorithm/*
src/algorithm/*/*.h src/algorithm/*/*.cxx
src/plan/*
src/cpu/*
src/cuda/BorrowedContext.cxx src/cuda/BorrowedContext.h src/cuda/BoxRows.h src/cuda/BoxTransfer.cxx
src/cuda/BoxTransfer.h src/cuda/CachedBuffer.cxx src/cuda/CachedBuffer.h
src/cuda/ChainLaunch.cxx src/cuda/CudaBackend.cxx
src/cuda/CudaError.cxx src/cuda/CudaError.h src/cuda/CurrentDevice.cxx src/cuda/CurrentDevice.h
src/cuda/DeviceContext.cxx src/cuda/DeviceContext.h
src/cuda/KernelCache.cxx src/cuda/MergeStreams.cxx src/cuda/SlabKernel.cxx src/cuda/SlabKernel.h
src/cuda/SlabPipeline.cxx src/cuda/SlabPipeline.h src/cuda/SlabRun.cxx src/cuda/StagedCopy.cxx src/cuda/StagedCopy.h
""".split()
# Not compiled as they are, or run at build time alone, or compiled with CUDA alone.
NOT_FILES = r"\.cmake$|\.in$|RowEmitter|algorithm/\w+/(\w+Device\.cxx|\w+Launch\.h|EmittedKernel\.|RuntimeKernels\.)"

# The programs that see changes, with their arguments.
TESTS = {
    "program": ("test/program/CudaMedianProgramTest", []),
    "core": ("test/core/CudaMedianCoreTest", []),
    "plan": ("test/plan/CudaMedianPlanTest", []),
    "engine": ("test/cpu/CudaMedianEngineTest", []),
    "pipeline": ("test/cuda/CudaMedianPipelineTest", []),
    "fuzz": (
        "test/fuzz/CudaMedianFuzz",
        ["--cases", "3000", "--seed", "1", "--backend", "cpu", "--shrink-seconds", "0"],
    ),
    "rows": ("test/algorithm/CudaMedianRowProgramsTest", []),
    "portable": ("test/algorithm/CudaMedianPortableTest", []),
    "tables": ("test/algorithm/CudaMedianTuningTest", []),
    "sorts": ("test/algorithm/CudaMedianRankSortTest", []),
    "merge": ("test/algorithm/CudaMedianMergeTilingTest", []),
    "compiler": ("test/cuda/CudaMedianRuntimeKernelsTest", []),
    "kernels": ("test/algorithm/CudaMedianHostKernelsTest", []),
    "regions": ("test/algorithm/CudaMedianRegionKernelsTest", []),
    "fuzz on host": (
        "test/fuzz/CudaMedianFuzzOnHost",
        ["--cases", "300", "--seed", "1", "--backend", "cuda", "--devices", "0,1", "--new-windows", "5"]
        + ["--shrink-seconds", "0"],
    ),
    "pipeline on host": ("test/cuda/CudaMedianPipelineOnHostTest", []),
}
# Which of them run for a change in a file, or else in the nearest folder around it that is here, those that find most
# in the least time first. A program whose own objects depend on the change runs in any case.
TESTS_OF = {
    "src/core": ["core", "fuzz", "rows", "engine", "fuzz on host"],
    "src/program": ["fuzz", "rows", "program", "kernels"],
    "src/algorithm": ["plan", "fuzz", "rows", "merge", "kernels", "regions", "fuzz on host"],
    "src/plan": ["plan", "fuzz", "fuzz on host", "merge", "kernels", "regions"],
    "src/cpu": ["fuzz", "rows", "engine"],
    "src/cuda": ["pipeline", "merge", "kernels", "regions", "compiler", "fuzz on host", "pipeline on host"],
    # Slabs and threads of devices.
    "src/core/SlabDealer.cxx": ["core", "pipeline", "pipeline on host"],
    "src/core/SlabDealer.h": ["core", "pipeline", "pipeline on host"],
    "src/cpu/ThreadTeam.cxx": ["pipeline", "pipeline on host"],
    "src/cpu/ThreadTeam.h": ["pipeline", "pipeline on host"],
    # Tables that were measured: kernels are emitted from them when tests are built, so no test run sees a change.
    "src/algorithm/tile/KernelPolicy.cxx": ["plan", "tables", "fuzz on host"],
    "src/algorithm/tile/PolicySearch.cxx": ["plan", "tables", "fuzz on host"],
    "src/algorithm/tile/TunedPolicy.cxx": ["plan", "tables", "fuzz on host"],
    "src/algorithm/rank/RankPolicy.cxx": ["plan", "tables", "fuzz", "fuzz on host"],
    "src": ["fuzz", "engine", "fuzz on host", "pipeline on host"],
}
# Of the programs compiled ahead for the CPU, which take minutes together, these stand for all.
ROWS = re.compile(r"/rows/Row")
ROWS_COMPILED = re.compile(r"/rows/Row(s|Programs)?_?(3x3x1x1_Narrow|3x3x1x1|7x7x1x1)[._]")

SWAPS = {
    "<": ["<="],
    "<=": ["<"],
    ">": [">="],
    ">=": [">"],
    "==": ["!="],
    "!=": ["=="],
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "%": ["/"],
    "&&": ["||"],
    "||": ["&&"],
    "&": ["|"],
    "|": ["&"],
    "^": ["|"],
    "<<": [">>"],
    ">>": ["<<"],
    "+=": ["-="],
    "-=": ["+="],
    "*=": ["/="],
    "/=": ["*="],
    "|=": ["&="],
    "&=": ["|="],
    "^=": ["|="],
    "++": ["--"],
    "--": ["++"],
    "min": ["max"],
    "max": ["min"],
    "true": ["false"],
    "false": ["true"],
}
TOKEN = re.compile(
    r"""
    (?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>(?:0[xX][0-9a-fA-F']+|\d[\d']*(?:\.\d+)?(?:[eE][+-]?\d+)?)[uUlLfF]*)
  | (?P<operator><<=|>>=|<=>|->|::|<<|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%&|^<>=!?:;,.(){}\[\]~])
    """,
    re.VERBOSE | re.DOTALL,
)

Mutation = collections.namedtuple("Mutation", "path start end old new line")


def without_directives(text):
    """Blanks preprocessor lines, with what continues them; offsets stay."""
    lines = text.split("\n")
    inside = False
    for number, line in enumerate(lines):
        if inside or line.lstrip().startswith("#"):
            inside = line.endswith("\\")
            lines[number] = " " * len(line)
    return "\n".join(lines)


def change_number(text):
    """Give the neighbours of a whole number, the half and the double of another."""
    body = re.sub(r"[uUlL]+$", "", text) if not re.search(r"[.eE]", text) or text[:2] in ("0x", "0X") else text
    suffix = text[len(body) :]
    digits = body.replace("'", "")
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", digits):
        return [hex(int(digits, 16) ^ 1) + suffix]
    if re.fullmatch(r"\d+", digits) and not (len(digits) > 1 and digits[0] == "0"):
        value = int(digits)
        return [str(value + 1) + suffix] + ([str(value - 1) + suffix] if value > 0 else [])
    if re.fullmatch(r"[\d.eE+-]+[fF]?", digits):
        number = digits.rstrip("fF")
        rest = digits[len(number) :]
        return [f"{float(number) * 2!r}{rest}", f"{float(number) / 2!r}{rest}"]
    return []


def find_mutations(path, text):
    """All changes of one file."""
    code = without_directives(text)
    tokens = [token for token in TOKEN.finditer(code) if token.lastgroup != "skip"]
    found = []
    # Inside of static_assert( … ), and of the angle brackets and parameters of a template's head, nothing is changed.
    skip_until = -1
    for number, token in enumerate(tokens):
        word = token.group()
        if token.start() < skip_until:
            continue
        if word in ("static_assert", "template", "__attribute__", "using", "namespace"):
            if word in ("using", "namespace"):
                skip_until = code.find(";" if word == "using" else "{", token.end())
                continue
            opening, closing = ("<", ">") if word == "template" else ("(", ")")
            depth = 0
            for other in tokens[number + 1 :]:
                depth += (other.group() == opening) - (other.group() == closing)
                if depth <= 0:
                    skip_until = other.end()
                    break
            continue
        before = tokens[number - 1].group() if number else ""
        before_kind = tokens[number - 1].lastgroup if number else ""
        after = tokens[number + 1].group() if number + 1 < len(tokens) else ""
        after_kind = tokens[number + 1].lastgroup if number + 1 < len(tokens) else ""
        spaced = code[token.start() - 1 : token.start()].isspace() and code[token.end() : token.end() + 1].isspace()
        line = code.count("\n", 0, token.start()) + 1
        choices = []
        if token.lastgroup == "number":
            choices = change_number(word)
        elif word in ("min", "max"):
            choices = SWAPS[word] if before == "::" and after in ("(", "<") else []
        elif word in ("true", "false"):
            choices = SWAPS[word]
        elif word in ("++", "--"):
            choices = SWAPS[word]
        elif token.lastgroup == "operator" and word in SWAPS and spaced:
            # A value on its left, and on its right: neither a sign nor a reference nor a pointer.
            is_value = before_kind in ("name", "number") or before in (")", "]", "}")
            if word in ("&", "*", "&&"):
                # "Type & name" and "Type * name" look like products of names.
                is_value = before in (")", "]") or before_kind == "number" or after_kind == "number" or word == "&&"
                if word == "&&" and before in ("auto", "T"):
                    is_value = False
            if word == "<<" and (
                '"' in text[token.end() : token.end() + 3] or before in ("text", "os", "stream", "out")
            ):
                is_value = False
            if before in ("return", "operator", "case"):
                is_value = False
            choices = SWAPS[word] if is_value else []
        for choice in choices:
            found.append(Mutation(path, token.start(), token.end(), word, choice, line))
    return found


class Build:
    """A copy of the checkout, built once, and what its objects depend on."""

    def __init__(self, source, folder, jobs):
        """Copy the checkout, build it, and read what depends on what."""
        self.source = os.path.join(folder, "source")
        self.build = os.path.join(self.source, "build", "test")
        self.copy(source)
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self.call(
            ["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
            + ["-DBUILD_TESTING=ON", "-DCUDAMEDIAN_BUILD_EXAMPLES=OFF", "-DCUDAMEDIAN_BUILD_BENCHMARKS=OFF"]
            + ["-DCUDAMEDIAN_USE_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
            + launcher
        )
        known = subprocess.run(
            ["ninja", "-C", self.build, "-t", "targets", "all"], capture_output=True, text=True, check=True
        ).stdout
        self.tests = {k: t for k, t in TESTS.items() if re.search(rf"^{re.escape(t[0])}:", known, re.MULTILINE)}
        self.call(["ninja", "-C", self.build, "-j", str(jobs)] + [os.path.basename(t[0]) for t in self.tests.values()])
        self.read_dependencies()

    def call(self, command):
        """Run a command, and end the program where it fails."""
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"failed: {shlex.join(command)}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}")

    def copy(self, source):
        """Copy what differs; what is the same keeps its time, so that little is built again."""
        names = subprocess.run(
            ["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split("\0")
        wanted = {name for name in names if name and os.path.isfile(os.path.join(source, name))}
        for name in wanted:
            target = os.path.join(self.source, name)
            with open(os.path.join(source, name), "rb") as file:
                content = file.read()
            if os.path.exists(target):
                with open(target, "rb") as file:
                    if file.read() == content:
                        continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(source, name), target)
        for folder in ("src", "test", "include"):
            for path, _, files in os.walk(os.path.join(self.source, folder)):
                for name in files:
                    full = os.path.join(path, name)
                    if os.path.relpath(full, self.source) not in wanted:
                        os.remove(full)

    def read_dependencies(self):
        """Learn how objects are compiled, what they include, and how programs are linked."""
        self.commands = {}
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
            for entry in json.load(file):
                words = shlex.split(entry["command"])
                self.commands[os.path.normpath(words[words.index("-o") + 1])] = words
        self.users = collections.defaultdict(set)
        text = subprocess.run(
            ["ninja", "-C", self.build, "-t", "deps"], capture_output=True, text=True, check=True
        ).stdout
        current = None
        for line in text.splitlines():
            if line and not line[0].isspace():
                current = os.path.normpath(line.split(":")[0])
            elif line.strip() and current in self.commands:
                full = os.path.normpath(os.path.join(self.build, line.strip()))
                if full.startswith(self.source + os.sep):
                    self.users[os.path.relpath(full, self.source)].add(current)
        self.links = {}
        for name, _ in self.tests.values():
            text = subprocess.run(
                ["ninja", "-C", self.build, "-t", "commands", name], capture_output=True, text=True, check=True
            ).stdout
            line = [part for part in text.splitlines() if f" -o {name} " in part][-1]
            self.links[name] = shlex.split(re.sub(r"^: && | && :$", "", line).split(" && ")[0])

    def estimate(self, path):
        """Tell what a change costs to compile, in objects; some are large."""
        large = {"CudaMedianHostKernelsGTest": 30, "CudaMedianRowProgramsGTest": 5, "CpuBackend": 10, "rows/Row": 10}
        return sum(
            max([weight for name, weight in large.items() if name in item] or [1])
            for item in set(self.library_objects(path)).union(
                *(self.test_objects(path, name) for name, _ in self.tests.values())
            )
        )

    def library_objects(self, path):
        """List the library's objects that depend on a file."""
        objects = [o for o in self.users[path] if o.startswith("src/CMakeFiles/CudaMedian.dir/")]
        return sorted(o for o in objects if not ROWS.search(o) or ROWS_COMPILED.search(o))

    def test_objects(self, path, name):
        """List a test program's own objects that depend on a file."""
        users = self.users[path]
        return [word for word in self.links[name] if os.path.normpath(word) in users]


def run(command, limit, environment=None, folder=None):
    """Return the exit status and the text, or None where the time was up."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=limit)
        return process.returncode, text.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""


class Judge:
    """Compiles a change and runs the tests."""

    def __init__(self, build, folder):
        """Take a build, and a folder for what is compiled from changes."""
        self.build = build
        self.folder = os.path.join(folder, "mutant")
        os.makedirs(self.folder, exist_ok=True)
        self.seconds = {}
        self.environment = {
            "GTEST_BRIEF": "1",
            "GTEST_FAIL_FAST": "1",
            "GTEST_COLOR": "no",
            "CCACHE_DISABLE": "1",
            "CUDAMEDIAN_TEST_SEED": "20250810",
        }

    def measure(self):
        """How long the tests take; they must pass."""
        known = os.path.join(self.folder, "seconds.json")
        if os.path.exists(known):
            with open(known, encoding="utf-8") as file:
                self.seconds = json.load(file)
        if all(name in self.seconds for name, _ in self.build.tests.values()):
            return
        for name, arguments in self.build.tests.values():
            start = time.monotonic()
            status, text = run([os.path.join(self.build.build, name)] + arguments, 900, self.environment)
            if status != 0:
                sys.exit(f"{name} fails without any change:\n{text[-4000:]}")
            self.seconds[name] = time.monotonic() - start
            print(f"{name}: {self.seconds[name]:.1f} s", flush=True)
        with open(known, "w", encoding="utf-8") as file:
            json.dump(self.seconds, file)

    def compile(self, item, number):
        """Compile an object anew. Return its path, "timeout", or what the compiler said."""
        words = list(self.build.commands[os.path.normpath(item)])
        out = os.path.join(self.folder, f"{number}.o")
        words[words.index("-o") + 1] = out
        words = ["-O1" if word in ("-O2", "-O3") else word for word in words]
        for option in ("-MF", "-MT"):
            if option in words:
                at = words.index(option)
                del words[at : at + 2]
        words = [word for word in words if word != "-MD"]
        # Warnings are not what a change is judged by; positions outside of arrays are.
        status, text = run(words + ["-w", "-D_GLIBCXX_ASSERTIONS"], 400, self.environment, self.build.build)
        return out if status == 0 else ("timeout" if status is None else text)

    def judge(self, path):
        """Tell what becomes of the change that the file has now: killed, survived, did not compile."""
        start = time.monotonic()
        library = self.build.library_objects(path)
        environment = dict(self.environment)
        objects = {}
        for item in library:
            out = self.compile(item, len(objects))
            if not os.path.exists(out):
                return ("not compiled", "took too long" if out == "timeout" else "")
            objects[item] = out
        if library:
            shared = os.path.join(self.folder, "mutant.so")
            # What it lacks the library has, which is loaded after it.
            status, text = run(["c++", "-shared", "-o", shared, *objects.values()], 60)
            if status != 0:
                return ("not compiled", text[-300:])
            environment["LD_PRELOAD"] = shared
        seen = False
        ours = get_tests_of(path)
        order = ours + [key for key in TESTS if key not in ours]
        for key in (key for key in order if key in self.build.tests):
            name, arguments = self.build.tests[key]
            changed = self.build.test_objects(path, name)
            if not changed and not (library and key in ours):
                continue
            seen = True
            program = os.path.join(self.build.build, name)
            if changed:
                words = list(self.build.links[name])
                for item in changed:
                    out = objects.get(item) or self.compile(item, len(objects))
                    if not os.path.exists(out):
                        return ("not compiled", "took too long" if out == "timeout" else "")
                    objects[item] = out
                    words[words.index(item)] = out
                program = os.path.join(self.folder, "program")
                words[words.index("-o") + 1] = program
                status, text = run(words, 120, None, self.build.build)
                if status != 0:
                    return ("not compiled", text[-300:])
            limit = max(90, 8 * self.seconds[name])
            status, text = run([program] + arguments, limit, environment, self.build.build)
            if status is None:
                return ("killed", f"{os.path.basename(name)}, which did not end in {limit:.0f} s")
            if status != 0:
                return ("killed", self.describe(os.path.basename(name), status, text))
        return ("survived", f"{time.monotonic() - start:.0f} s" if seen else "no test depends on it")

    @staticmethod
    def describe(name, status, text):
        """Name the test that failed."""
        found = re.search(r"\[  FAILED  \] (\S+)", text)
        if found:
            return found.group(1)
        found = re.search(r"SHRUNK: (.*)", text) or re.search(r"FAILED[:,] (.*)", text)
        if found:
            return found.group(1)[:200]
        return f"{name}, exit status {status}"


def get_tests_of(path):
    """Name the programs that run for a change in a file."""
    while path not in TESTS_OF:
        if not path:
            return []
        path = os.path.dirname(path)
    return TESTS_OF[path]


def list_files(source, given):
    """List the files that are changed, relative to the checkout. What the tables name has to be there."""
    import glob

    for path in TESTS_OF:
        if not os.path.exists(os.path.join(source, path)):
            sys.exit(f"TESTS_OF names what is not there: {path}")
    files = []
    for pattern in given or FILES:
        found = sorted(glob.glob(pattern if os.path.isabs(pattern) else os.path.join(source, pattern)))
        if not found:
            sys.exit(f"no file is called {pattern}")
        files += found
    return [os.path.relpath(f, source) for f in files if os.path.isfile(f) and (given or not re.search(NOT_FILES, f))]


def main():
    """Draw changes, judge each, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="prints the changes and makes none")
    parser.add_argument("--first", type=int, default=int(os.environ.get("MUTATE_FIRST", "1")), help="starts there")
    parser.add_argument("number", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    files = list_files(options.source, options.files)
    mutations = []
    for path in files:
        with open(os.path.join(options.source, path), encoding="utf-8") as file:
            mutations += find_mutations(path, file.read())
    if not mutations:
        sys.exit("nothing to change")
    drawn = random.Random(options.seed).sample(mutations, min(options.number, len(mutations)))
    print(f"seed {options.seed}: {len(drawn)} of {len(mutations)} changes in {len(files)} files", flush=True)
    if options.list:
        for m in drawn:
            print(f'{m.path}:{m.line}: "{m.old}" -> "{m.new}"')
        return 0
    build = Build(options.source, options.folder, options.jobs)
    judge = Judge(build, options.folder)
    judge.measure()
    # What is compiled soonest comes first: a run that is cut short has judged most.
    drawn.sort(key=lambda m: build.estimate(m.path))
    outcomes = collections.Counter()
    survivors = []
    # The copy is put right also where the run is ended from outside.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    for number, m in list(enumerate(drawn, 1))[options.first - 1 :]:
        full = os.path.join(build.source, m.path)
        with open(full, encoding="utf-8") as file:
            text = file.read()
        times = os.stat(full)
        start = time.monotonic()
        try:
            with open(full, "w", encoding="utf-8") as file:
                file.write(text[: m.start] + m.new + text[m.end :])
            outcome, why = judge.judge(m.path)
        finally:
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
            os.utime(full, ns=(times.st_atime_ns, times.st_mtime_ns))
        outcomes[outcome] += 1
        source_line = text.split("\n")[m.line - 1].strip()
        line = f'{number}/{len(drawn)} {m.path}:{m.line}: "{m.old}" -> "{m.new}": {outcome}'
        line += f" by {why}" if outcome == "killed" else f" ({why})" if why else ""
        print(f"{line} [{time.monotonic() - start:.0f} s]   {source_line}", flush=True)
        if outcome == "survived":
            survivors.append(f'{m.path}:{m.line}: "{m.old}" -> "{m.new}"   {source_line}')
    judged = outcomes["killed"] + outcomes["survived"]
    print(f"\n{judged} changes compiled, {outcomes['not compiled']} did not")
    if judged:
        print(
            f"{outcomes['killed']} killed, {100 * outcomes['killed'] / judged:.1f} %; {outcomes['survived']} survived:"
        )
        print("\n".join(survivors))
    return 0


if __name__ == "__main__":
    sys.exit(main())
