package handlers

import (
	"strings"
	"unicode"
)

// hanReadings returns the readings of the Chinese characters of GB 2312, and of the frequent ones of Big5,
// that ICU, by which OpenMage romanizes, reads otherwise than the library of romanize does. These are
// the readings of ICU 72 (transform Han-Latin; Latin-ASCII). A blank in front makes each a word.
func hanReadings() map[rune]string {
	// Each word is a reading, followed by the characters that have it.
	const readings = "ai嗌癌砹閡 an胺 ang肮 ba耙鲅 bai擘柏 bang蒡 bao薄龅 bei呗碚陂 ben贲 beng甏 bi庳濞痺舭萆 biao杓灬膘驃骠 " +
		"bie瘪癟 bin玢 bo卜鈸钹 bu瓿簿誧醭 can孱掺摻蚕 ceng噌 cha差猹茬 chai齜 chan禅觇镡顫颤 chang厂惝 chao勦朝焯 " +
		"chen嗔抻縝 cheng柽 chi鸱 chong艟 chu樗絀绌触 chuai啜嘬搋膪 chuan舡 chui椎 chun蝽 chuo踔 ci伺呲茈賜赐鹚 " +
		"cu酢 da嗒沓躂 dai呆骀 dan赕 dao叨焘燾 de地 di隄 diao铫 die嗲揲 ding盯耵铤 dong侗峒恫湩硐 dou都 du芏 " +
		"duan耑 dun炖 duo哆 e锇 ei诶 fa醱 fang彷 fei啡 fu佛砩芣 ga呷噶旮钆 gan酐 gang釭 gao镐 ge仡硌纥袼鬲 " +
		"gen哏 gou佝 gu汩轱鹄 guai掴摑 guan莞鰥鳏 guang广 gui柜桧檜硅鱖鳜 guo呙 ha铪 hai咳胲还還 han撖汉阚 hang珩绗 " +
		"hao蚝貉 he郃阖颌 hei嘿 heng桁 hong黉黌 hou骺 hu惚鹱 huai坏 huan圜浣郇鲩 huang韹 hui哕浍珲 hun梡 huo耠 " +
		"ji偈緝缉荠薺藉诘 jia价茄 jian茧 jiang彊耩 jiao湫胶艽酵 jie洁骱 jin劲勁廑 jing惊粳 ju桔砠 juan隽雋 jue嚼 " +
		"ka卡喀 kan槛檻 ke钶锞颏 kei剋 keng吭 kou眍 kua挎 kuai狯 kui亏匮悝蝰隗 kuo括 la旯砬蜡 lan罱褴 lao姥潦烙酪 " +
		"le了 lei勒 li离鎘 liang踉 liao撂钌 lie埒猎 lin啉拎膦賃赁 liu鹨 lou偻瘘 lu捋氇 luo泺漯脶鉻 mai脈 man鞔 " +
		"mao冒犛瞀铆 me么麼 mi羋芈 mian渑澠黾 n嗯 na吶呐娜 nao孬蛲蟯 ne呢疒 nen恁 nian蔫辗 ning宁寧苧 nuo喏锘 o哦喔噢 " +
		"pan爿蹣 pao刨 pei锫 pi睥芘蚍邳 pie苤 ping蘋 po泊 pu扑攵朴脯莆 qi俟槭沏祇蹊 qia葜袷髂 qian乾凵 qiang羟襁 " +
		"qiao缲 qie郄 qin溱锓 qing箐苘黥 qu蠼 quan犭 rao桡橈 ren葚 ru蠕 sa挲 sha刹剎 shai酾 shan剡埏柵膻 " +
		"shang垧绱裳 shao芍苕 she歙畲 shei谁 shen什沈莘 shi似匙螫适 shou扌 shu朮术毹熟腧 shui氵 si锶 song忪 " +
		"sou艘 sun隼 suo睃羧 ta拓牠趿铊 tan钽 tang饧 ti裼 tian鈿 tiao鯈 ting烃 tui蛻蜕褪 tuo乇 wai崴 wan万脘 " +
		"weng蕹 wo倭挝撾擭硪蜗蝸 wu鹜 xi粞郗釐铣 xian莶 xiao崤淆詨 xie携攜械蝎頡 xin忄 xing荥 xu蓿 xuan痃癣癬 " +
		"xue薛血谑踅 xun潠窨 ya吖垭琊睚 yan湮縯腌芫 yao繇 ye叶掖暍曳腋葉 yi嶷眙 yin吲 you尢莜 yu籲 yuan垸 za咋拶紮臢 " +
		"zai甾 zei鯽 zeng锃 zha柞痄 zhan粘 zhang長长 zhao啁棹爪 zhe着著蛰轍辙锗 zhen浈甽 zheng鯖 zhi徵栉櫛泜衹 " +
		"zhong种 zhou诌驟骤 zhu苎 zi觜趑 zou楱 zuo琢"
	read := map[rune]string{}
	for _, word := range strings.Fields(readings) {
		latin := strings.TrimRightFunc(word, func(r rune) bool { return r > unicode.MaxASCII })
		for _, character := range word[len(latin):] {
			read[character] = " " + latin
		}
	}
	return read
}
