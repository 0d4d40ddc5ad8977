import TestSupport

/// A small fake picture worker that follows the command in the picture. Plays faults that a real worker rarely has.
enum ScriptedWorker {
    /// Writes the program.
    ///
    /// - Parameters:
    ///   - directory: directory of the program. The worker appends a line to `starts` there at each start, and a line
    ///     to `jobs` for each picture.
    ///   - opening: Python that runs before the hello.
    static func make(in directory: TemporaryDirectory, opening: String = "") throws -> String {
        try directory.program(
            "worker",
            """
            #!/usr/bin/python3 -S
            import array, json, os, signal, socket, sys, time
            def note(name, text):
                with open("\(directory.path)/" + name, "a") as file: file.write(text + "\\n")
            note("starts", str(os.getpid()))
            \(opening)
            agent = socket.socket(fileno=0)
            def say(value): agent.send(json.dumps(value).encode())
            say({"version": 1, "library": "script", "formats": [], "sandbox": []})
            while True:
                packet, control, flags, address = agent.recvmsg(16384, socket.CMSG_SPACE(16))
                if not packet: break
                job = json.loads(packet)
                files = array.array("i")
                for level, kind, data in control: files.frombytes(data[:len(data) // 4 * 4])
                text = os.pread(files[0], 1000, 0).decode()
                note("jobs", text)
                answer = {"done": {"_0": {"width": len(text), "height": len(files)}}}
                if text == "die": os.kill(os.getpid(), signal.SIGSEGV)
                if text == "exit": sys.exit("that was too much")
                if text == "hang": time.sleep(1000)
                if text == "babble": agent.send(b"what?"); continue
                if text == "lie": job["id"] += 1
                if text == "write": os.write(files[1], b"written")
                if text == "zero": answer["done"]["_0"]["width"] = 0
                if text == "huge": answer["done"]["_0"]["height"] = 65536
                if text == "scrawl":
                    try: os.pwrite(files[0], b"!", 0)
                    except OSError: answer["done"]["_0"]["height"] = 65535
                if text == "refuse": answer = {"refused": {"_0": {"reason": "damaged", "message": "it is torn"}}}
                if text == "fail": answer = {"failed": {"_0": "no space"}}
                if text == "wait":
                    while not os.path.exists("\(directory.path)/go"): time.sleep(0.01)
                for file in files: os.close(file)
                say({"id": job["id"], "outcome": answer})
            """)
    }
}
