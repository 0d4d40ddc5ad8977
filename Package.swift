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

        // The rooms of the agent, in the order a file passes through them.
        room("LinuxSystem", ["CLinux", systemPackage]),
        room("URLs", ["LinuxSystem"]),
        room("UploadCore"),
        room("Digests", ["CCrypto", "CXXHash", "UploadCore"]),
        room("FileWatch", ["CLinux", "LinuxSystem", "UploadCore", systemPackage]),
        room("Ledger", ["CLMDB", "CXXHash", "LinuxSystem", "UploadCore", logging, systemPackage]),
        room("NetworkWatch", ["CLinux", "LinuxSystem", systemPackage]),
        room("Transport", ["CCurl", "LinuxSystem", "URLs", httpTypes]),
        room("Remotes", ["Digests", "LinuxSystem", "Transport", "URLs", "UploadCore", httpTypes, systemPackage]),
        room("Processes", ["CLinux", "LinuxSystem", systemPackage]),
        room("PictureJobs"),
        room(
            "MediaTools", ["CLinux", "LinuxSystem", "PictureJobs", "Processes", "UploadCore", logging, systemPackage]),
        room(
            "Avatars",
            [
                "CLinux", "Digests", "LinuxSystem", "MediaTools", "PictureJobs", "Transport", "URLs", "UploadCore",
                httpTypes, logging, systemPackage,
            ]),
        room(
            "AgentKit",
            [
                "Avatars", "CLinux", "Digests", "FileWatch", "Ledger", "LinuxSystem", "MediaTools", "NetworkWatch",
                "PictureJobs", "Remotes", "Transport", "UploadCore", httpTypes, hummingbird, hummingbirdCore,
                logging, nioCore, nioPosix,
                serviceLifecycle, systemPackage,
                unixSignals,
                .product(name: "TOMLKit", package: "TOMLKit"),
            ]),
        program("outbox", ["AgentKit", "LinuxSystem", "UploadCore", argumentParser, logging, systemPackage]),

        // The only importer of libvips: a process of its own, which may die over a picture.
        program("outbox-media", ["CSandbox", "CVips", "LinuxSystem", "PictureJobs", systemPackage]),

        // The other end. It shares no code with the agent, so that one bug cannot hide another.
        room(
            "OutboxReceiver",
            [
                "CCrypto", "CDisk", httpTypes, hummingbird, hummingbirdCore, logging, nioCore, nioHTTPTypes, nioPosix,
                serviceLifecycle, systemPackage,
            ]),
        program("outbox-receiver", ["OutboxReceiver", argumentParser, logging]),

        program(
            "outbox-bench",
            [
                "Avatars", "Ledger", "LinuxSystem", "MediaTools", "PictureJobs", "Transport", "UploadCore",
                argumentParser, httpTypes, logging, systemPackage,
            ]),
        // The avatar cache in a program of somebody else's.
        .executableTarget(
            name: "example-avatars",
            dependencies: ["Avatars", "MediaTools", "PictureJobs", "Transport", logging], path: "examples/avatars",
            exclude: ["README.md"], swiftSettings: strict),

        room("TestSupport"),
        // What starts the built programs and plays the server for them.
        room("EndToEndSupport", ["CCrypto", "TestSupport"]),
        .target(
            name: "FaultPreload",
            // It is loaded into programs with a Swift runtime of their own, and must not bring another.
            linkerSettings: [.unsafeFlags(["-nostartfiles", "-static-stdlib"])]),
        program("outbox-trials", ["EndToEndSupport", "TestSupport", argumentParser]),
        tests("UploadCoreTests", ["UploadCore"]),
        tests("DigestsTests", ["Digests", "UploadCore"]),
        tests("LinuxSystemTests", ["LinuxSystem", "TestSupport", systemPackage]),
        tests("URLsTests", ["LinuxSystem", "URLs"]),
        tests("FileWatchTests", ["CLinux", "FileWatch", "LinuxSystem", "TestSupport", "UploadCore", systemPackage]),
        tests("LedgerTests", ["Ledger", "LinuxSystem", "TestSupport", "UploadCore", logging, systemPackage]),
        tests("NetworkWatchTests", ["CLinux", "LinuxSystem", "NetworkWatch", "TestSupport", systemPackage]),
        tests("PictureJobsTests", ["PictureJobs"]),
        tests("ProcessesTests", ["CLinux", "LinuxSystem", "Processes", "TestSupport"]),
        tests(
            "MediaToolsTests",
            [
                "CLinux", "LinuxSystem", "MediaTools", "PictureJobs", "Processes", "TestSupport", "UploadCore", logging,
                systemPackage,
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
        tests("TransportTests", ["TestSupport", "Transport", httpTypes]),
        tests(
            "RemotesTests",
            ["Digests", "LinuxSystem", "Remotes", "TestSupport", "Transport", "UploadCore", httpTypes, systemPackage]),
        tests(
            "AgentKitTests",
            [
                "AgentKit", "Avatars", "Digests", "FileWatch", "Ledger", "LinuxSystem", "MediaTools", "PictureJobs",
                "Remotes", "TestSupport", "Transport", "UploadCore", httpTypes, logging, serviceLifecycle,
                systemPackage,
            ]),
        tests(
            "OutboxReceiverTests",
            [
                "CCrypto", "OutboxReceiver", "TestSupport", hummingbird, logging, httpTypes, nioCore, nioEmbedded,
                nioHTTPTypes, systemPackage,
            ]),
        tests("EndToEndSupportTests", ["EndToEndSupport"]),
        tests("EndToEndTests", ["EndToEndSupport", "TestSupport"]),
    ]
)
