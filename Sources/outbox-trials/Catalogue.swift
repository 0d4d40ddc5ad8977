/// All trials, in the order of their names.
enum Catalogue {
    static let trials: [any Trial] = [
        RandomKills(),
        StepKills(),
        LostReplies(),
        ServerTrouble(),
        ManyFiles(),
        WatchLimits(),
        OddWriters(),
        ChangingFiles(),
        BadNetworks(),
        StatusTable(),
        ExpiringCredentials(),
        FailingDisk(),
        SteppingClocks(),
        OddNames(),
        SameContents(),
        SidecarReads(),
        HugeAmounts(),
        TwoAgents(),
        PortraitKills(),
        SourceKills(),
        ManySources(),
        PowerCuts(),
        DamagedState(),
        RandomLife(),
    ]
}
