#if canImport(CVips)
    import CVips
#endif

@main
struct Program {
    static func main() {}
}
