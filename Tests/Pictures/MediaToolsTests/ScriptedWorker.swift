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
            import array, os, signal, socket, sys, time
            def note(name, text):
                with open("\(directory.path)/" + name, "a") as file: file.write(text + "\\n")
            note("starts", str(os.getpid()))
            \(opening)
            agent = socket.socket(fileno=0)
            def say(*fields): agent.send("\\n".join(map(str, fields)).encode())
            say(3, "script", "", "")
            while True:
                packet, control, flags, address = agent.recvmsg(16384, socket.CMSG_SPACE(16))
                if not packet: break
                job = int(packet.split(b"\\n")[0])
                files = array.array("i")
                for level, kind, data in control: files.frombytes(data[:len(data) // 4 * 4])
                text = os.pread(files[0], 1000, 0).decode()
                note("jobs", text)
                answer = ["done", len(text), len(files)]
                if text == "die": os.kill(os.getpid(), signal.SIGSEGV)
                if text == "exit": sys.exit("that was too much")
                if text == "hang": time.sleep(1000)
                if text == "babble": agent.send(b"what?"); continue
                if text == "lie": job += 1
                if text == "write": os.write(files[1], b"written")
                if text == "zero": answer[1] = 0
                if text == "huge": answer[2] = 65536
                if text == "scrawl":
                    try: os.pwrite(files[0], b"!", 0)
                    except OSError: answer[2] = 65535
                if text == "refuse": answer = ["refused", "damaged", "it is torn"]
                if text == "fail": answer = ["failed", "no space"]
                if text == "wait":
                    while not os.path.exists("\(directory.path)/go"): time.sleep(0.01)
                for file in files: os.close(file)
                say(job, *answer)
            """)
    }
}
