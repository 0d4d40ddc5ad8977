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
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")

func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
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
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CDisk"),
        .systemLibrary(name: "CSandbox"),
        .systemLibrary(name: "CTunnel"),
        .systemLibrary(
            name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        // May be missing: outbox-media is built without it then, and says so.
        .systemLibrary(
            name: "CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),

        // The files of the dashboard's page, as bytes in the program.
        .target(name: "DashboardPage", path: "Sources/Dashboard", exclude: ["Page"]),

        // The rooms of the agent, in the order a file passes through them.
        room("Versions"),
        room("LinuxSystem", ["CLinux", systemPackage]),
        room("URLs", ["LinuxSystem"]),
        room("UploadCore"),
        room("Digests", ["CCrypto", "CXXHash", "LinuxSystem", "UploadCore"]),
        room("FileWatch", ["CLinux", "LinuxSystem", "UploadCore", systemPackage]),
        room("Ledger", ["CLMDB", "CXXHash", "LinuxSystem", "UploadCore", logging, systemPackage]),
        room("NetworkWatch", ["CLinux", "LinuxSystem", systemPackage]),
        room("Transport", ["CCurl", "LinuxSystem", "URLs", httpTypes]),
        room(
            "Remotes",
            [
                "AgentConfiguration", "Digests", "LinuxSystem", "Transport", "URLs", "UploadCore", httpTypes,
                systemPackage,
            ]),
        room("Processes", ["CLinux", "LinuxSystem", systemPackage]),
        room("PictureJobs"),
        room(
            "MediaTools", ["CLinux", "LinuxSystem", "PictureJobs", "Processes", "UploadCore", logging, systemPackage]),
        room(
            "Products",
            [
                "CLinux", "LinuxSystem", "MediaTools", "PictureJobs", "Processes", "UploadCore", logging, systemPackage,
            ]),
        room(
            "Avatars",
            [
                "CLinux", "Digests", "LinuxSystem", "MediaTools", "PictureJobs", "Transport", "URLs", "UploadCore",
                httpTypes, logging, systemPackage,
            ]),
        // What the agent is made of, from the simplest to the whole.
        room("AgentSupport", ["LinuxSystem", "UploadCore"]),
        room(
            "AgentConfiguration",
            [
                "AgentSupport", "CLinux", "LinuxSystem", "PictureJobs", "URLs", "UploadCore", systemPackage,
                .product(name: "TOMLKit", package: "TOMLKit"),
            ]),
        room(
            "Session",
            [
                "AgentConfiguration", "CLinux", "Ledger", "LinuxSystem", "Remotes", "Transport", "UploadCore",
                systemPackage,
            ]),
        room(
            "Intake",
            [
                "AgentConfiguration", "CLinux", "Digests", "FileWatch", "LinuxSystem", "MediaTools", "UploadCore",
                systemPackage,
            ]),
        room("Reports", ["AgentSupport", "Ledger", "UploadCore"]),
        room(
            "Sidecars",
            [
                "AgentConfiguration", "AgentSupport", "Intake", "LinuxSystem", "Reports", "UploadCore", logging,
                systemPackage,
            ]),
        room("LedgerCare", ["AgentSupport", "CLinux", "Ledger", "LinuxSystem", logging, systemPackage]),
        room(
            "SystemdService",
            ["AgentConfiguration", "AgentSupport", "LinuxSystem", "Processes", "UploadCore", logging, systemPackage]),
        room(
            "ControlAPI",
            [
                "AgentSupport", "CLinux", "DashboardPage", "Digests", "LinuxSystem", "Reports", "Session", "URLs",
                "UploadCore", httpTypes, hummingbird, hummingbirdCore, logging, nioCore, nioHTTPTypes, nioPosix,
                serviceLifecycle, systemPackage,
            ]),
        room(
            "Console", ["AgentConfiguration", "AgentSupport", "CLinux", "LinuxSystem", "Reports", "UploadCore"]),
        room(
            "Doctor",
            [
                "AgentConfiguration", "AgentSupport", "CLinux", "Console", "ControlAPI", "FileWatch", "LedgerCare",
                "LinuxSystem", "MediaTools", "PictureJobs", "Processes", "Products", "Remotes", "Reports", "Session",
                "Transport", "UploadCore", "URLs", httpTypes, logging, systemPackage,
            ]),
        room(
            "Portrait",
            [
                "AgentSupport", "Intake", "LinuxSystem", "MediaTools", "PictureJobs", "Remotes", "UploadCore", logging,
                systemPackage,
            ]),
        room(
            "Agent",
            [
                "AgentConfiguration", "AgentSupport", "Avatars", "CLinux", "ControlAPI", "Digests",
                "Doctor", "FileWatch", "Intake", "Ledger", "LedgerCare", "LinuxSystem", "MediaTools", "NetworkWatch",
                "PictureJobs", "Portrait", "Products", "Remotes", "Reports", "Session", "Sidecars", "SystemdService",
                "Transport", "UploadCore", "Versions", logging, serviceLifecycle, systemPackage, unixSignals,
            ]),
        program(
            "outbox",
            [
                "Agent", "AgentConfiguration", "AgentSupport", "Console", "ControlAPI", "Doctor", "LinuxSystem",
                "Processes", "Reports", "Session", "SystemdService", "UploadCore", "Versions", argumentParser, logging,
                systemPackage,
            ]),

        // The only importer of libvips: a process of its own, which may die over a picture.
        program("outbox-media", ["CSandbox", "CVips", "LinuxSystem", "PictureJobs", "Versions", systemPackage]),

        // The other end. It shares no code with the agent but the version, so that one bug cannot hide another.
        room(
            "OutboxReceiver",
            [
                "CCrypto", "CDisk", httpTypes, hummingbird, hummingbirdCore, logging, nioCore, nioHTTPTypes, nioPosix,
                serviceLifecycle, systemPackage,
            ]),
        program("outbox-receiver", ["OutboxReceiver", "Versions", argumentParser, logging]),

        program(
            "outbox-bench",
            [
                "Avatars", "CDisk", "CTunnel", "Digests", "LinuxSystem", "MediaTools", "PictureJobs", "Products",
                "UploadCore", "Versions", argumentParser, httpTypes, logging, systemPackage,
            ]),
        // The avatar cache in a program of somebody else's.
        .executableTarget(
            name: "example-avatars",
            dependencies: ["Avatars", "MediaTools", "PictureJobs", "Transport", logging], path: "examples/avatars",
            exclude: ["README.md"], swiftSettings: strict),

        room("TestSupport", [logging]),
        // Makes pictures and videos with positions.
        room("MediaTestSupport", ["TestSupport"]),
        room("AgentTestSupport", ["AgentSupport", "LinuxSystem", "Reports", "UploadCore"]),
        // What starts the built programs and plays the server for them.
        room("EndToEndSupport", ["CCrypto", "TestSupport"]),
        .target(
            name: "FaultPreload",
            // It is loaded into programs with a Swift runtime of their own, and must not bring another.
            linkerSettings: [.unsafeFlags(["-nostartfiles", "-static-stdlib"])]),
        program("outbox-trials", ["EndToEndSupport", "TestSupport", "Versions", argumentParser]),
        tests("UploadCoreTests", ["UploadCore"]),
        tests("DigestsTests", ["Digests", "LinuxSystem", "TestSupport", "UploadCore"]),
        tests("LinuxSystemTests", ["LinuxSystem", "TestSupport", systemPackage]),
        tests("URLsTests", ["URLs"]),
        tests("FileWatchTests", ["CLinux", "FileWatch", "LinuxSystem", "TestSupport", "UploadCore", systemPackage]),
        tests("LedgerTests", ["Ledger", "TestSupport", "UploadCore", logging]),
        tests("NetworkWatchTests", ["CLinux", "LinuxSystem", "NetworkWatch", "TestSupport"]),
        tests("PictureJobsTests", ["PictureJobs"]),
        tests("ProcessesTests", ["CLinux", "LinuxSystem", "Processes", "TestSupport"]),
        tests(
            "MediaToolsTests",
            ["LinuxSystem", "MediaTools", "PictureJobs", "Processes", "TestSupport", "UploadCore", logging]),
        tests(
            "ProductsTests",
            [
                "LinuxSystem", "MediaTestSupport", "MediaTools", "PictureJobs", "Processes", "Products", "TestSupport",
                "UploadCore", logging, systemPackage,
            ]),
        tests(
            "AvatarsTests",
            [
                "Avatars", "LinuxSystem", "MediaTools", "PictureJobs", "TestSupport", "Transport", "UploadCore",
                httpTypes, logging, systemPackage,
            ]),
        .testTarget(
            name: "MediaWorkerTests",
            dependencies: ["CSandbox", "LinuxSystem", "PictureJobs", "TestSupport", systemPackage],
            exclude: ["Fixtures"], swiftSettings: strict),
        tests("OutboxBenchTests", ["outbox-bench"]),
        tests("TransportTests", ["TestSupport", "Transport", "URLs", httpTypes]),
        tests(
            "RemotesTests",
            [
                "AgentConfiguration", "Digests", "LinuxSystem", "Remotes", "TestSupport", "Transport", "URLs",
                "UploadCore", httpTypes, systemPackage,
            ]),
        tests("AgentSupportTests", ["AgentSupport", "TestSupport", "UploadCore"]),
        tests(
            "AgentConfigurationTests",
            ["AgentConfiguration", "AgentSupport", "PictureJobs", "TestSupport", "UploadCore"]),
        tests(
            "SessionTests",
            ["AgentConfiguration", "LinuxSystem", "Remotes", "Session", "TestSupport", "Transport", "UploadCore"]),
        tests(
            "IntakeTests",
            [
                "AgentTestSupport",
                "AgentConfiguration", "Digests", "Intake", "LinuxSystem", "TestSupport", "UploadCore", systemPackage,
            ]),
        tests("ReportsTests", ["AgentTestSupport", "Reports", "UploadCore"]),
        tests(
            "SidecarsTests",
            [
                "AgentTestSupport", "Intake", "LinuxSystem", "Reports", "Sidecars", "TestSupport", "UploadCore",
                logging, systemPackage,
            ]),
        tests("LedgerCareTests", ["Ledger", "LedgerCare", "TestSupport", "UploadCore", logging]),
        tests(
            "SystemdServiceTests",
            [
                "AgentConfiguration", "AgentSupport", "Processes", "SystemdService", "TestSupport", "UploadCore",
                logging,
            ]),
        tests(
            "ControlAPITests",
            [
                "AgentSupport", "AgentTestSupport", "ControlAPI", "LinuxSystem", "Reports", "Session", "TestSupport",
                "UploadCore", httpTypes, logging, serviceLifecycle, systemPackage,
            ]),
        tests(
            "ConsoleTests",
            [
                "AgentConfiguration", "AgentSupport", "AgentTestSupport", "Console", "Reports", "TestSupport",
                "UploadCore",
            ]),
        tests(
            "DoctorTests",
            [
                "AgentConfiguration", "AgentSupport", "Console", "ControlAPI", "Doctor", "Processes", "Remotes",
                "Reports", "TestSupport", "Transport", "UploadCore", httpTypes,
            ]),
        tests(
            "PortraitTests",
            [
                "AgentTestSupport", "Intake", "LinuxSystem", "MediaTools", "PictureJobs", "Portrait", "Remotes",
                "TestSupport", "Transport", "UploadCore", logging, systemPackage,
            ]),
        tests(
            "AgentTests",
            [
                "Agent", "AgentConfiguration", "AgentSupport", "AgentTestSupport", "ControlAPI", "Digests", "FileWatch",
                "Intake", "Ledger", "LinuxSystem", "MediaTools", "Portrait", "Products", "Remotes", "Reports",
                "Session", "Sidecars",
                "TestSupport", "Transport", "UploadCore", logging, systemPackage,
            ]),
        tests(
            "OutboxReceiverTests",
            [
                "CCrypto", "OutboxReceiver", "TestSupport", hummingbirdCore, logging, httpTypes, nioCore, nioEmbedded,
                nioHTTPTypes,
            ]),
        tests("EndToEndSupportTests", ["EndToEndSupport"]),
        tests("EndToEndTests", ["EndToEndSupport", "MediaTestSupport", "TestSupport"]),
    ]
)
