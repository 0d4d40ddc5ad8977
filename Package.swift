// swift-tools-version: 6.2
import PackageDescription

// Every target is held to the same rules: Swift 6 mode, warnings are errors, explicit `any`, and imports that are
// neither leaked to clients nor inherited from other files.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1: Target.Dependency = .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")

// Each target is in the folder that its place in the architecture gives it; `make lint` checks the walls between them.
func room(_ name: String, in folder: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", swiftSettings: strict)
}

func program(_ name: String, in folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", swiftSettings: strict)
}

func library(_ name: String, _ pkgConfig: String? = nil, from package: String? = nil) -> Target {
    .systemLibrary(
        name: name, path: "Sources/System/C/\(name)", pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] })
}

func tests(_ name: String, in folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: "Tests/\(folder)/\(name)", swiftSettings: strict)
}

let package = Package(
    name: "outbox-agent",
    products: [
        .executable(name: "outbox", targets: ["outbox"]),
        .executable(name: "outbox-receiver", targets: ["outbox-receiver"]),
        .executable(name: "outbox-bench", targets: ["outbox-bench"]),
        .executable(name: "outbox-trials", targets: ["outbox-trials"]),
        .executable(name: "outbox-media", targets: ["outbox-media"]),
        // The avatar cache, for other programs; examples/avatars is one.
        .library(name: "Avatars", targets: ["Avatars"]),
        // Loaded into the agent by trials, never linked to anything.
        .library(name: "FaultPreload", type: .dynamic, targets: ["FaultPreload"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.90.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        // Without its traits: the default ones pull in full Foundation with ICU, tens of megabytes of memory.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0", traits: []),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        // C libraries, as the distribution ships them.
        library("CLinux"),
        library("CDisk"),
        library("CSandbox"),
        library("CTunnel"),
        library("CLMDB", "lmdb", from: "liblmdb-dev"),
        library("CCurl", "libcurl", from: "libcurl4-openssl-dev"),
        library("CCrypto", "libcrypto", from: "libssl-dev"),
        library("CXXHash", "libxxhash", from: "libxxhash-dev"),
        // May be missing: outbox-media is built without it then, and says so.
        library("CVips", "vips", from: "libvips-dev"),

        // The files of the dashboard's page, as bytes in the program.
        .target(name: "DashboardPage", path: "Sources/Agent/Dashboard", exclude: ["Page"]),

        // The rooms of the agent, in the order a file passes through them.
        room("Versions", in: "System"),
        room("LinuxSystem", in: "System", ["CLinux", systemPackage]),
        room("URLs", in: "Network", ["LinuxSystem"]),
        room("UploadCore", in: "Core"),
        room("Digests", in: "System", ["CCrypto", "CXXHash", "LinuxSystem", "UploadCore"]),
        room("FileWatch", in: "Disk", ["CLinux", "LinuxSystem", "UploadCore", systemPackage]),
        room(
            "Ledger", in: "Disk",
            ["CLMDB", "CLinux", "CXXHash", "LinuxSystem", "Text", "UploadCore", logging, systemPackage]),
        room("NetworkWatch", in: "Network", ["CLinux", "LinuxSystem", systemPackage]),
        room("Transport", in: "Network", ["CCurl", "LinuxSystem", "URLs", httpTypes]),
        room(
            "Remotes", in: "Network",
            ["Digests", "LinuxSystem", "Transport", "URLs", "UploadCore", httpTypes, systemPackage]),
        room("Processes", in: "System", ["CLinux", "LinuxSystem", systemPackage]),
        room("PictureJobs", in: "Pictures"),
        room(
            "MediaTools", in: "Pictures",
            ["CLinux", "LinuxSystem", "PictureJobs", "Processes", "UploadCore", logging, systemPackage]),
        room(
            "Products", in: "Pictures",
            ["CLinux", "LinuxSystem", "MediaTools", "PictureJobs", "Processes", "UploadCore", logging, systemPackage]),
        room(
            "Avatars", in: "Pictures",
            [
                "CLinux", "Digests", "LinuxSystem", "MediaTools", "PictureJobs", "Transport", "URLs", "UploadCore",
                httpTypes, logging, systemPackage,
            ]),
        // What the agent is made of, from the simplest to the whole.
        room("Clocks", in: "System", ["LinuxSystem", "UploadCore"]),
        room("Text", in: "System", ["LinuxSystem", "UploadCore"]),
        room(
            "AgentConfiguration", in: "Agent",
            [
                "CLinux", "LinuxSystem", "PictureJobs", "Text", "URLs", "UploadCore", systemPackage,
                .product(name: "TOMLKit", package: "TOMLKit"),
            ]),
        room(
            "Session", in: "Agent",
            [
                "AgentConfiguration", "CLinux", "Ledger", "LinuxSystem", "Remotes", "Transport", "UploadCore",
                systemPackage,
            ]),
        room(
            "Intake", in: "Disk",
            ["CLinux", "Digests", "FileWatch", "LinuxSystem", "MediaTools", "Text", "UploadCore", systemPackage]),
        room("Reports", in: "Disk", ["Ledger", "Text", "UploadCore"]),
        room(
            "Sidecars", in: "Disk",
            ["Clocks", "Intake", "LinuxSystem", "Reports", "UploadCore", logging, systemPackage]),
        room(
            "SystemdService", in: "Agent",
            ["AgentConfiguration", "Clocks", "LinuxSystem", "Processes", "Text", "UploadCore", logging, systemPackage]),
        room("RequestTurns", in: "Agent", [httpTypes, nioCore, nioHTTPTypes]),
        room(
            "ControlAPI", in: "Agent",
            [
                "CLinux", "Clocks", "DashboardPage", "Digests", "Ledger", "LinuxSystem", "Reports", "RequestTurns",
                "Session", "Text", "URLs", "UploadCore", httpTypes, hummingbird, hummingbirdCore, logging, nioCore,
                nioHTTPTypes,
                nioPosix, serviceLifecycle, systemPackage,
            ]),
        room("Console", in: "Agent", ["AgentConfiguration", "CLinux", "LinuxSystem", "Reports", "Text", "UploadCore"]),
        room(
            "Doctor", in: "Agent",
            [
                "AgentConfiguration", "CLinux", "Console", "ControlAPI", "FileWatch", "Ledger", "LinuxSystem",
                "MediaTools", "PictureJobs", "Processes", "Products", "Remotes", "Reports", "Session", "Text",
                "Transport", "URLs", "UploadCore", httpTypes, logging, systemPackage,
            ]),
        room(
            "Hooks", in: "Agent",
            [
                "AgentConfiguration", "CLinux", "Clocks", "Digests", "Ledger", "LinuxSystem", "Processes", "Reports",
                "Text",
                "Transport", "UploadCore", httpTypes, logging,
            ]),
        room(
            "Portrait", in: "Pictures",
            [
                "Clocks", "Intake", "LinuxSystem", "MediaTools", "PictureJobs", "Remotes", "Text", "UploadCore",
                logging, systemPackage,
            ]),
        room(
            "Agent", in: "Agent",
            [
                "AgentConfiguration", "Avatars", "CLinux", "Clocks", "ControlAPI", "Digests", "Doctor", "FileWatch",
                "Hooks", "Intake", "Ledger", "LinuxSystem", "MediaTools", "NetworkWatch", "PictureJobs", "Portrait",
                "Products",
                "Remotes", "Reports", "Session", "Sidecars", "SystemdService", "Text", "Transport", "UploadCore",
                "Versions", logging, serviceLifecycle, systemPackage, unixSignals,
            ]),
        program(
            "outbox", in: "Programs",
            [
                "Agent", "AgentConfiguration", "Console", "ControlAPI", "Doctor", "Ledger", "LinuxSystem", "Processes",
                "Reports", "Session", "SystemdService", "Text", "UploadCore", "Versions", argumentParser, logging,
                systemPackage,
            ]),

        // The only importer of libvips: a process of its own, which may die over a picture.
        program(
            "outbox-media", in: "Programs",
            ["CSandbox", "CVips", "LinuxSystem", "PictureJobs", "Versions", systemPackage]),

        // The other end. Its messages, JSON, digests of uploads and journal are its own, so that one bug cannot hide
        // another. It shares the version, MD5 (CCrypto), the turns of requests and the drawing of pictures.
        room(
            "OutboxReceiver", in: "Programs",
            [
                "CCrypto", "CDisk", "LinuxSystem", "MediaTools", "PictureJobs", "RequestTurns", httpTypes, hummingbird,
                hummingbirdCore, logging, nioCore, nioHTTPTypes, nioPosix, serviceLifecycle, systemPackage,
            ]),
        program(
            "outbox-receiver", in: "Programs",
            ["LinuxSystem", "MediaTools", "OutboxReceiver", "Versions", argumentParser, logging]),

        program(
            "outbox-bench", in: "Proof",
            [
                "CDisk", "CTunnel", "Digests", "LinuxSystem", "Versions", argumentParser, httpTypes, logging,
                systemPackage,
            ]),
        // The avatar cache in a program of somebody else's.
        .executableTarget(
            name: "example-avatars",
            dependencies: ["Avatars", "MediaTools", "PictureJobs", "Transport", logging], path: "examples/avatars",
            exclude: ["README.md"], swiftSettings: strict),

        room("TestSupport", in: "Proof", [logging]),
        // Makes pictures and videos with positions.
        room("MediaTestSupport", in: "Proof", ["TestSupport"]),
        room("AgentTestSupport", in: "Proof", ["Clocks", "LinuxSystem", "Reports", "UploadCore"]),
        // What starts the built programs and plays the server for them.
        room("EndToEndSupport", in: "Proof", ["CCrypto", "TestSupport"]),
        .target(
            name: "FaultPreload", path: "Sources/Proof/FaultPreload",
            // It is loaded into programs with a Swift runtime of their own, and must not bring another.
            linkerSettings: [.unsafeFlags(["-nostartfiles", "-static-stdlib"])]),
        program("outbox-trials", in: "Proof", ["EndToEndSupport", "TestSupport", "Versions", argumentParser]),
        tests("UploadCoreTests", in: "Core", ["UploadCore"]),
        tests("DigestsTests", in: "System", ["Digests", "LinuxSystem", "TestSupport", "UploadCore"]),
        tests("LinuxSystemTests", in: "System", ["LinuxSystem", "TestSupport", systemPackage]),
        tests("URLsTests", in: "Network", ["URLs"]),
        tests(
            "FileWatchTests", in: "Disk",
            ["CLinux", "FileWatch", "LinuxSystem", "TestSupport", "UploadCore", systemPackage]),
        tests("LedgerTests", in: "Disk", ["Ledger", "LinuxSystem", "TestSupport", "UploadCore", logging]),
        tests("NetworkWatchTests", in: "Network", ["CLinux", "LinuxSystem", "NetworkWatch", "TestSupport"]),
        tests("PictureJobsTests", in: "Pictures", ["PictureJobs"]),
        tests("ProcessesTests", in: "System", ["CLinux", "LinuxSystem", "Processes", "TestSupport"]),
        tests(
            "MediaToolsTests", in: "Pictures",
            ["LinuxSystem", "MediaTools", "PictureJobs", "Processes", "TestSupport", "UploadCore", logging]),
        tests(
            "ProductsTests", in: "Pictures",
            [
                "LinuxSystem", "MediaTestSupport", "MediaTools", "Products", "TestSupport", "UploadCore", logging,
                systemPackage,
            ]),
        tests(
            "AvatarsTests", in: "Pictures",
            [
                "Avatars", "LinuxSystem", "MediaTools", "PictureJobs", "TestSupport", "Transport", "UploadCore",
                httpTypes, logging, systemPackage,
            ]),
        .testTarget(
            name: "MediaWorkerTests",
            dependencies: ["CSandbox", "LinuxSystem", "PictureJobs", "TestSupport", systemPackage],
            path: "Tests/Programs/MediaWorkerTests", exclude: ["Fixtures"], swiftSettings: strict),
        tests("OutboxBenchTests", in: "Proof", ["outbox-bench"]),
        tests("TransportTests", in: "Network", ["TestSupport", "Transport", "URLs", httpTypes]),
        tests(
            "RemotesTests", in: "Network",
            [
                "Digests", "LinuxSystem", "Remotes", "TestSupport", "Transport", "URLs", "UploadCore", httpTypes,
                systemPackage,
            ]),
        tests("ClocksTests", in: "System", ["Clocks", "TestSupport", "UploadCore"]),
        tests("TextTests", in: "System", ["Text", "UploadCore"]),
        tests(
            "AgentConfigurationTests", in: "Agent",
            ["AgentConfiguration", "PictureJobs", "TestSupport", "Text", "UploadCore"]),
        tests(
            "SessionTests", in: "Agent",
            ["AgentConfiguration", "LinuxSystem", "Remotes", "Session", "TestSupport", "Transport", "UploadCore"]),
        tests(
            "IntakeTests", in: "Disk",
            [
                "AgentTestSupport", "Digests", "Intake", "LinuxSystem", "TestSupport", "Text", "UploadCore",
                systemPackage,
            ]),
        tests("ReportsTests", in: "Disk", ["AgentTestSupport", "Reports", "UploadCore"]),
        tests(
            "SidecarsTests", in: "Disk",
            [
                "AgentTestSupport", "Intake", "LinuxSystem", "Reports", "Sidecars", "TestSupport", "UploadCore",
                logging, systemPackage,
            ]),
        tests(
            "SystemdServiceTests", in: "Agent",
            ["AgentConfiguration", "LinuxSystem", "Processes", "SystemdService", "TestSupport", "UploadCore", logging]),
        tests(
            "RequestTurnsTests", in: "Agent",
            ["RequestTurns", httpTypes, nioCore, nioEmbedded, nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1]),
        tests(
            "HooksTests", in: "Agent",
            [
                "AgentConfiguration", "AgentTestSupport", "Hooks", "Ledger", "Reports", "TestSupport", "Transport",
                "UploadCore",
            ]),
        tests(
            "ControlAPITests", in: "Agent",
            [
                "AgentTestSupport", "ControlAPI", "Ledger", "LinuxSystem", "Reports", "Session", "TestSupport",
                "UploadCore", httpTypes, logging, serviceLifecycle, systemPackage,
            ]),
        tests(
            "ConsoleTests", in: "Agent",
            ["AgentConfiguration", "AgentTestSupport", "Console", "Reports", "TestSupport", "Text", "UploadCore"]),
        tests(
            "DoctorTests", in: "Agent",
            [
                "AgentConfiguration", "Console", "ControlAPI", "Doctor", "LinuxSystem", "Processes", "Remotes",
                "Reports", "TestSupport", "Transport", "UploadCore", httpTypes,
            ]),
        tests(
            "PortraitTests", in: "Pictures",
            [
                "AgentTestSupport", "Clocks", "Intake", "LinuxSystem", "MediaTools", "PictureJobs", "Portrait",
                "Remotes", "TestSupport", "Transport", "UploadCore", logging, systemPackage,
            ]),
        tests(
            "AgentTests", in: "Agent",
            [
                "Agent", "AgentConfiguration", "AgentTestSupport", "CLinux", "Clocks", "ControlAPI", "Digests",
                "FileWatch", "Intake", "Ledger", "LinuxSystem", "MediaTools", "Portrait", "Products", "Remotes",
                "Reports", "Session", "Sidecars", "TestSupport", "Transport", "UploadCore", logging, systemPackage,
            ]),
        tests(
            "OutboxReceiverTests", in: "Programs",
            [
                "CCrypto", "LinuxSystem", "MediaTools", "OutboxReceiver", "PictureJobs", "TestSupport", hummingbirdCore,
                logging, httpTypes, nioCore, nioEmbedded, nioHTTPTypes,
            ]),
        tests("EndToEndSupportTests", in: "Proof", ["EndToEndSupport"]),
        tests("EndToEndTests", in: "Proof", ["EndToEndSupport", "MediaTestSupport", "TestSupport"]),
    ]
)
