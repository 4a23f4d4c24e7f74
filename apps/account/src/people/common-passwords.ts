/**
 * Common passwords of at least 12 characters, in lower case, which `checkPassword` rejects. Sources
 * are the lists of Django (by R. Williams) and zxcvbn, and obvious passwords for this service.
 * Repetitions and keyboard sequences are omitted, since `checkPassword` detects them.
 */
export const commonPasswords: ReadonlySet<string> = new Set(
  `
  010203040506 012345678910 014702580369 01telemike01 050605rostik 0r968ji9ufj6 102030405060
  1111111111zz 111222333000 111222333444555 111222tianya 112233445566 122333444455555 123123qweqwe
  123321123321 123321456654 123321qweewq 123456123456 123456654321 12345677654321 123456782000
  1234567887654321 1234567890-= 123456789000 12345678900987654321 123456789012 1234567890123
  12345678901234567890 1234567890987654321 1234567890qaz 1234567890qw 1234567890qwe 1234567890qwerty
  1234567890qwertyuiop 1234567890zzz 123456789101 1234567891011 123456789101112 123456789123
  123456789123456 1234567891234567 123456789123456789 1234567892000 12345678987654321
  123456789987654321 123456789aaa 123456789abc 123456789asd 123456789qaz 123456789qqq 123456789qwe
  123456789qwer 123456789qwerty 123456789zxc 1234567qwertyu 123456qwerty 123456zxcvbn 1234qwerasdf
  1234qwerasdfzxcv 123admin321a 123ewqasdcxz 123qwe123qwe 123qwe456rty 123qweasdzxc 123qwerty123
  12qw34er56ty 159753159753 159753456852 193570356033 19960610ilja 1a2a3a4a5a6a 1a2s3d4f5g6h
  1q2w3e4r5t6y 1q2w3e4r5t6y7u 1q2w3e4r5t6y7u8i 1q2w3e4r5t6y7u8i9o 1q2w3e4r5t6y7u8i9o0p 1qa2ws3ed4rf
  1qa2ws3ed4rf5tg 1qaz2wsx3edc 1qaz2wsx3edc4rfv 1qazxsw23edc 1qazxsw23edcvfr4 23176djivanfros
  23wkoa0fp78dk 31217221027711 32615948worms 41d8cd98f00b 420842084208555 4815162342lf
  4815162342lost 520love101182 541233432442 5532361cnjqrf 59382113kevinp 6215mila6215 742617000027
  89063032220m 89231243658s 89876065093rax 89semtsriuty a1s2d3f4g5h6 abc123456789 admin18533362
  adminadminadmin administrator administrator1 administrator123 aksjdlasdakj89879 alpha135792468
  amadeusptfcor an83546921an13 andrewjackie antananarivu antennapod123 anytimetoday arabella24630
  asd123asd123 asdfgh123456 asdfghjkl123 auckland2010 avrillavigne badiman28200 baseball1234
  berlinberlin bhrh0h2oof6xbqjeh blacksonblon bltynbabrfwbz boy4u2ownnyc bpgjldsgjldthnf
  bullnuts2003 businessbabe changeme1234 changemechangeme cheeseburger chesterfield chickenwing101
  christopher1 civilization cjdthitycndj cnfc35762209 combat123654 configuratio construction
  contortionist cookiemonster corperfmonsy correcthorsebatterystaple cosmopolitan counterstrike
  demon1q2w3e4r demon1q2w3e4r5t deutschland1 deutschland123 devilmaycry4 dfg5fhg5vgfh1 digitalprodu
  dkflbvbhjdbx dkflbvbhjdyf domainlock2005 doomsayer.2.7mords.v doomsayer.2.7mords.vv edwardcullen
  entertainment ezekiel11991 fallen_angel familiyafamiliya fatima753357 finalfantasy findaupair007
  fkmnthyfnbdf fktrcfylhjdbx fktrcfylhjdf fktrcfylhjdyf flvbybcnhfnjh football1234 foreveryoung
  frederiksberg fucktheworld fuckyoubitch fussball1234 fußballfußball fynfyfyfhbde g13916055158
  geheim123456 geheimgeheim geheimgeheim1 gettherefast gfhfktkjuhfv gfhjkmgfhjkm ghbdtnghbdtn
  ghbdtnrfrltkf ghhh47hj7649 ghjatccbjyfk ghjcnjgbpltw ghjcnjgfhjkm ghjcnjghjcnj ghjcnjqgfhjkm
  ghjcnjrdfibyj ghjnbdjcnjzybt ghtdtlvtldtl gjkysqgbpltw googletester greenlantern gthtrfnbgjkt
  gtnhjpfdjlcr hallohallohallo hannahmontana hawkesbury93 hd764nw5d7e1vb1 hd764nw5d7e1vbv
  hedimaptfcor heterosexual iampurehaha2 ichliebedich ichliebedich1 ihatethisgame iloveboobies
  ilovemyfamily iloveyou1234 iloveyouforever iloveyousomuch inactive1996aug ingodwetrust
  installdevic installsqlst intelligence international internazionale ipo54tj45uy856 iseedeadpeople
  jamesbond007 jesuslovesme jkiuztdftl57 john!20130605at1753 josephphone7 jundian2011xr justinbieber
  kartoffelpuffer knackwurst8853 ktjynsq40147 laurel12creek leavemealone leliane50934 letmeinletmein
  letmeinplease lhbjkjubz2957704 lightpower12345 linkedin2011 liverpool123 lost4815162342
  love777321777 lydcc20091314 lytdybrbdfvgbhf lytghjgtnhjdcr m01759766727 mailcreated5240
  manchesterunited maprchem56458 marek14michal marinamarina massimiliano masterbaiting masterbating
  masturbation maurolarastefy mega_pizdetz666 megaparol12345 mevefalkcakk michaeljackson
  migrationschool minecraft123 minnesota_hp moderncombat momsanaladventure morganstanley
  mortalkombat motherfucker msoracle32re msorcloledbr mypassword123 mypodcasts123 n8zgt5p0shw=
  nastyanastya natiichen999 ne_e_pod_chehyl necronomicon needforspeed nemvxyheqdd5oqxyxyzi
  networkingpe neworleans12345 newproject2004 nhbujyjvtnhbz nhecsyfujkjdt nhfdvfnjkju123
  nhfycajhvths nick1234-rem936 nightcrawler nondriversig nopasswordhere ntktdbpjh1994 olcrackmaster
  onedirection ontheoutside p030710p$e4o paraklast1974 password1234 password1234! password12345
  password123456 passwordassword passwordpassword passwordpasswordpassword passwordpasswort
  passwordstandard passwort1234 passwort12345 passwort123456 pe#5gz29ptzmse peanutbutter
  pfqwtd27121988 philadelphia playstation2 playstation3 podcast-sync podcast-sync1 podcastpodcast
  podcastsync1 podcastsync123 polniypizdec0211 polniypizdec1102 polniypizdec110211 pornographic
  princess1234 professional projectsadminx przyjaciolki ptybnxtvgbjy punksnotdead q1w2e3r4t5y6
  q1w2e3r4t5y6u7 q1w2e3r4t5y6u7i8 q1w2e3r4t5y6u7i8o9p0 qawsedrftgyh qaz123wsx456 qazwsx123456
  qazwsxedc123 qazwsxedcrfv qazwsxedcrfvtgb qazwsxqazwsx qazxswedc123 qazxswedcvfr qwaszxerdfcv
  qwe123qwe123 qweasdzxc123 qwegta13091990 qwerasdfzxcv qwertasdfgzxcvb qwerty123456 qwerty123456789
  qwertyasdfgh qwertyqwerty qwertyuiop10 qwertyuiop12 qwertyuiop123 qwertyuiop12345 qwertyuiop[]
  qwertyytrewq qwertz123456 qwertzqwertz residentevil rfnthbyf1988 ronaldinho10 s8ylpe9jdpvym
  sanfrancisco satisfaction saun24865709 scandinavian schalke04schalke schatzschatz schoolgirlie
  sdf7asdf6asdg8df sdicmt7seytn sebastian106 seemnemaailm seniseviyorum sojdlg123aljg
  somanypickles27 sommer202512 sonnenschein sonyericsson specialinsta startfinding startrek1234
  starwarsfan10 starwarsstarwars stefangreil1983 stickdaddy77 stinkyfinger stratocaster sunshine1234
  supermanbatman supernatural systemofadown telechargement temppassword thecakeisalie
  thisisapassword thisismypassword ticketmaster total12scherz transformers trustnooneever
  unbelievable vanyarespekt vfhbyfvfhbyf vfrcbvvfrcbv vfvfvskfhfve vitor1268123 vladimirovna
  warhammer40k wazzkaprivet websolutions websolutionssu webuivalidat weihnachtsbau weihnachtsbaum
  welcome12345 welcome123456 weronika1992 whosyourdaddy xantria10315 xtseo2011tdx xxxp455w0rd5
  yandi20080527 yemi19900911 yfdbufnjh10305070 z1x2c3v4b5n6 z1x2c3v4b5n6m7 zaq12wsxcde3 zaq1xsw2cde3
  zaqwsxcderfv zcfvfzkexifz zmx870919123 zqjphsyf6ctifgu zxcasdqwe123 zxcvbn123456 zxcvbnm123456789
  zxcvbnmmnbvcxz
`
    .trim()
    .split(/\s+/),
);
